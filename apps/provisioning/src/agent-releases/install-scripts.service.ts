import { Inject, Injectable } from '@nestjs/common';
import fs from 'node:fs';
import path from 'node:path';
import { API_PREFIX } from '@rmm/contracts';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';

const FOLDER = path.join(import.meta.dirname, '../../install-scripts');
const PLACEHOLDER = '@API_URL@';
/** Characters without a meaning in a quoted string of a shell or PowerShell. */
const UNSAFE = /[^A-Za-z0-9:/._~[\]-]/g;

/** The installation scripts with the address of this API. */
@Injectable()
export class InstallScriptsService {
  readonly shell: string;
  readonly powerShell: string;

  /** Only the configured address is in the scripts: a `Host` header could name another server. */
  constructor(@Inject(PROVISIONING_CONFIG) { publicApiUrl }: Pick<ProvisioningConfig, 'publicApiUrl'>) {
    const apiUrl = toScriptText(`${publicApiUrl}${API_PREFIX}`);
    const read = (name: string) =>
      fs.readFileSync(path.join(FOLDER, name), 'utf8').replaceAll(PLACEHOLDER, () => apiUrl);
    this.shell = read('install.sh');
    this.powerShell = read('install.ps1');
  }
}

/** Percent-encodes what could end a quoted string of a script. */
const toScriptText = (url: string): string =>
  url.replace(UNSAFE, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
