// Breaks each boundary on purpose and expects lint to report it; one import is allowed.
import { ESLint } from 'eslint';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { before, test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const RULE = '@nx/enforce-module-boundaries';
let eslint;

before(() => {
  // the rule reads the project graph that any nx command leaves behind
  execFileSync('npx', ['nx', 'show', 'projects'], { cwd: ROOT, stdio: 'ignore' });
  eslint = new ESLint({ cwd: ROOT });
});

/** Returns what the rule reports for a file with this one import. */
async function findings(file, specifier) {
  const code = `import * as imported from '${specifier}';\nexport const used = imported;\n`;
  const [result] = await eslint.lintText(code, { filePath: path.join(ROOT, file) });
  return result.messages.filter((message) => message.ruleId === RULE).map((message) => message.message);
}

const FORBIDDEN = [
  ['a service importing another service', 'apps/identity/src/main.ts', '../../credentials/src/config.js', /relative/],
  ['a contract importing a platform lib', 'libs/permissions/src/index.ts', '@rmm/errors', /type:contract/],
  ['a platform lib importing the test harness', 'libs/outbound/src/index.ts', '@rmm/testing', /type:platform/],
  ['the stores importing anything of ours', 'libs/testing-services/src/index.ts', '@rmm/contracts', /type:stores/],
  ['a behavior spec importing a platform lib', 'apps/fleet-e2e/src/steps.ts', '@rmm/persistence', /type:e2e/],
];

for (const [name, file, specifier, text] of FORBIDDEN) {
  test(`lint refuses ${name}`, async () => {
    const found = await findings(file, specifier);
    assert.equal(found.length, 1, `expected one finding, got ${JSON.stringify(found)}`);
    assert.match(found[0], text);
  });
}

test('lint accepts a platform lib imported by a service', async () => {
  assert.deepEqual(await findings('apps/identity/src/main.ts', '@rmm/persistence'), []);
});

test('lint refuses a route without an access decorator', async () => {
  const code = `import { Controller, Get } from '@nestjs/common';
@Controller('open')
export class OpenController {
  @Get()
  read(): string {
    return 'anyone';
  }
}
`;
  const filePath = path.join(ROOT, 'apps/credentials/src/api-keys/api-keys.controller.ts');
  const [result] = await eslint.lintText(code, { filePath });
  assert.deepEqual(
    result.messages.map((message) => message.ruleId),
    ['rmm/one-access-decorator-per-route'],
  );
});
