import { fieldOf, IsOneOf, IsUuidList } from '@rmm/validation';
import { ScriptTargetDto } from '../../dto/create-script.dto.js';
import { BUNDLE_MODES, type BundleMode } from '../bundle-plan.policy.js';

export class PreviewBundleDto extends ScriptTargetDto {
  /** Checks the object only: `readBundle` reads the entries, of which a bad one is an error of its own. */
  @fieldOf({
    name: 'isBundle',
    check: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    text: 'must be an object',
    description:
      '`{ bundleVersion: 1, scripts }`; at most 200 scripts of `name, osTypes, language, content, runAs?, timeoutSeconds?, description?, category?, tags?, parameters?, exitCodeSeverityMapping?`',
    api: {
      type: 'object',
      additionalProperties: true,
      example: {
        bundleVersion: 1,
        scripts: [{ name: 'Disk space', osTypes: ['linux'], language: 'bash', content: 'df -h' }],
      },
    },
  })
  bundle!: Record<string, unknown>;
}

export class ImportBundleDto extends PreviewBundleDto {
  @IsOneOf(BUNDLE_MODES, { optional: true, description: 'For names that are taken; `skip` by default' })
  mode?: BundleMode;
}

export class ExportBundleDto {
  @IsUuidList({ min: 1, max: 200, description: 'Comma-separated' })
  ids!: string[];
}
