import { execFileSync } from 'node:child_process';
import { powerShellErrors } from '../../test/powershell-syntax.js';
import { InstallScriptsService } from './install-scripts.service.js';

const scriptsFor = (publicApiUrl: string) => new InstallScriptsService({ publicApiUrl });

describe('InstallScriptsService', () => {
  it('names the configured address in both scripts, and leaves no placeholder', () => {
    const { shell, powerShell } = scriptsFor('https://rmm.example.com');
    expect(shell).toContain(`API_URL='https://rmm.example.com/api/v1'`);
    expect(powerShell).toContain(`$apiUrl = 'https://rmm.example.com/api/v1'`);
    for (const script of [shell, powerShell]) expect(script).not.toContain('@API_URL@');
  });

  it.each([
    [`https://rmm.example/'; touch /tmp/x; '`, 'https://rmm.example/%27%3B%20touch%20/tmp/x%3B%20%27/api/v1'],
    ['https://rmm.example/$(id)`id`', 'https://rmm.example/%24%28id%29%60id%60/api/v1'],
    ['https://rmm.example/‘’\n$&', 'https://rmm.example/%E2%80%98%E2%80%99%0A%24%26/api/v1'],
    ['http://[::1]:8080', 'http://[::1]:8080/api/v1'],
  ])('encodes what a script would interpret in %j', (publicApiUrl, expected) => {
    const { shell, powerShell } = scriptsFor(publicApiUrl);
    expect(shell).toContain(`API_URL='${expected}'\n`);
    expect(powerShell).toContain(`$apiUrl = '${expected}'\n`);
  });

  it.each(['bash', 'dash'])('has a shell script that %s parses', (program) => {
    const { shell } = scriptsFor('https://rmm.example.com');
    if (!isInstalled(program)) return;
    expect(execFileSync(program, ['-n'], { input: shell }).toString()).toBe('');
  });

  it('has a shell script without findings of shellcheck, where it is installed', () => {
    if (!isInstalled('shellcheck')) return;
    const { shell } = scriptsFor('https://rmm.example.com');
    expect(execFileSync('shellcheck', ['-'], { input: shell }).toString()).toBe('');
  });

  it('has a PowerShell script without syntax errors', async () => {
    expect(await powerShellErrors(scriptsFor('https://rmm.example.com').powerShell)).toEqual([]);
  });

  it('has a PowerShell script that the parser of PowerShell accepts, where it is installed', () => {
    if (!isInstalled('pwsh')) return;
    const { powerShell } = scriptsFor('https://rmm.example.com');
    const check = '$null = [scriptblock]::Create([Console]::In.ReadToEnd())';
    expect(execFileSync('pwsh', ['-NoProfile', '-Command', check], { input: powerShell }).toString()).toBe('');
  });
});

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}
