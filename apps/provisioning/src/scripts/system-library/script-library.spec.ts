import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { readDto } from '@rmm/validation';
import { powerShellErrors } from '../../../test/powershell-syntax.js';
import { ScriptFieldsDto } from '../dto/script-fields.dto.js';
import { LIBRARY_FOLDER, readManifest } from './system-library.service.js';

const run = promisify(execFile);
const MANIFEST = readManifest();
const fileOf = (file: string) => path.join(LIBRARY_FOLDER, file);
const contentOf = (file: string) => readFileSync(fileOf(file), 'utf8');
const filesWith = (extension: string) => MANIFEST.map(({ file }) => file).filter((file) => file.endsWith(extension));
const [BASH, POWERSHELL] = [filesWith('.sh'), filesWith('.ps1')];
const isInstalled = (command: string) => spawnSync(command, ['--version']).error === undefined;
const itIf = (condition: boolean) => (condition ? it : it.skip);
jest.setTimeout(120_000);

/** Patterns of what a script that only reads does not have: commands that write, fetch or delete, output into files. */
const WRITES_IN_BASH = [
  /\b(rm|mv|cp|dd|tee|touch|mkdir|chmod|chown|kill|pkill|reboot|shutdown|curl|wget|nc|eval|source)\b\s+[^'"|]/,
  /\b(install|remove|purge|dist-upgrade|full-upgrade)\b\s+-/,
  /\bsystemctl\s+(start|stop|restart|enable|disable|mask)\b/,
  />>?\s*(?!\/dev\/null|&)[\w"'$/]/,
];
const WRITES_IN_POWERSHELL = [
  /\b(Set|Add|Remove|Clear|New|Start|Stop|Restart|Enable|Disable|Install|Uninstall|Update|Rename|Move|Copy|Out|Invoke|Register|Unregister|Suspend|Resume|Repair|Reset|Initialize)-(?!String\b|Object\b)\w+/,
  /\b(iex|DownloadString|WebClient|Delete\(|Put\(|Download\(|Install\()/,
  />>?\s*["'$\w]/,
];

/** Returns the lines of a script without comments and texts in quotes. */
const codeOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .map((line) => line.replace(/'[^']*'/g, "''").replace(/"[^"$]*"/g, '""'))
    .join('\n');

describe('the script library', () => {
  it('has at least 25 scripts, each with files, names and ids of its own', () => {
    expect(MANIFEST.length).toBeGreaterThanOrEqual(25);
    const folders = readdirSync(LIBRARY_FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const files = folders.flatMap(({ name }) => readdirSync(fileOf(name)).map((file) => `${name}/${file}`));
    expect(MANIFEST.map(({ file }) => file).sort()).toEqual(files.sort());
    for (const field of ['id', 'name', 'file'] as const) {
      expect(new Set(MANIFEST.map((entry) => entry[field])).size).toBe(MANIFEST.length);
    }
    const names = MANIFEST.map(({ name }) => name.toLowerCase());
    expect(names).toEqual(names.toSorted());
    for (const os of ['windows', 'macos', 'linux'] as const) {
      expect(MANIFEST.filter(({ osTypes }) => osTypes.includes(os)).length).toBeGreaterThan(10);
    }
  });

  it.each(MANIFEST.map((entry) => [entry.file, entry] as const))(
    'describes %s as the API accepts it',
    (file, described) => {
      const { id: _id, file: _file, ...entry } = described;
      const content = contentOf(file);
      expect(() => readDto(ScriptFieldsDto, { ...entry, content })).not.toThrow();
      expect(entry.description).toContain('nothing');
      expect(entry.language).toBe(file.endsWith('.ps1') ? 'powershell' : 'bash');
      expect(content.endsWith('\n') && !content.includes('\r')).toBe(true);
      // Windows PowerShell reads files without a byte order mark in the code page of the system.
      expect(content).toMatch(/^[\x20-\x7e\n]+$/);
      const reportsFindings = /\bexit (1\b|"\$status")/.test(content);
      expect(entry.exitCodeSeverityMapping !== undefined).toBe(reportsFindings);
    },
  );

  it.each(BASH)('changes nothing in %s', (file) => {
    for (const pattern of WRITES_IN_BASH) expect(codeOf(contentOf(file))).not.toMatch(pattern);
  });

  it.each(POWERSHELL)('changes nothing in %s', (file) => {
    const code = codeOf(contentOf(file)).replaceAll('New-Object -ComObject Microsoft.Update.Session', '');
    for (const pattern of WRITES_IN_POWERSHELL) expect(code).not.toMatch(pattern);
  });

  it.each(BASH)('passes bash -n: %s', async (file) => {
    expect((await run('bash', ['-n', fileOf(file)])).stderr).toBe('');
  });

  itIf(isInstalled('shellcheck'))('passes shellcheck, where it is installed', async () => {
    await run('shellcheck', ['--severity=warning', ...BASH.map(fileOf)]);
  });

  itIf(isInstalled('pwsh'))('passes the parser of PowerShell, where it is installed', async () => {
    const parse = `$found = 0; foreach ($file in $args) { $errors = $null;
      [System.Management.Automation.Language.Parser]::ParseFile($file, [ref]$null, [ref]$errors) > $null;
      foreach ($e in $errors) { $found += 1; Write-Output "\${file}: $e" } } exit $found`;
    await run('pwsh', ['-NoProfile', '-NonInteractive', '-Command', `& { ${parse} }`, ...POWERSHELL.map(fileOf)]);
  });

  it.each(POWERSHELL)('has no syntax error in %s', async (file) => {
    expect(await powerShellErrors(contentOf(file))).toEqual([]);
  });

  it.each([
    ['if ($a) {\n  Write-Output 1\n', ['line 2: missing }']],
    ['$a = 1\nforeach ($x $y) { 1 }\n', ['line 2: "foreach ($x $y)"']],
    ['exit 0\n$x = @{ a = 1; b }\n', ['line 2: "b"']],
    ['if $a { 1 }\n', ['line 1: "if $a"']],
    ['Write-Output "abc\n', ['line 1: "Write-Output \\"abc\\n"']],
    ['$x = "a"\nWrite-Output (1, 2\n', ['line 2: "Write-Output (1, 2\\n"']],
  ])('finds the syntax error of %j', async (script, errors) => {
    expect(await powerShellErrors(script)).toEqual(errors);
  });

  itIf(process.platform === 'linux').each<[string, number[], RegExp]>([
    ['unix/disk-space.sh', [0, 1], /^Mounted on +Size MB.*\n\/ +\d+ +\d+ +\d+%$/m],
    ['unix/uptime.sh', [0, 1], /^Running for: \d+ days, \d+ hours\nLoad: \d/],
    ['unix/top-processes.sh', [0], /^Most memory:\n +\d+ MB .*node/],
    ['unix/dns-settings.sh', [0, 1], /^DNS servers:\n/],
    ['unix/backup-agents.sh', [0, 1], /^(running: |No backup agent is running)/],
    ['linux/memory.sh', [0, 1], /^Memory: \d+ MB, available: \d+ MB \(\d+ %\)\nSwap: \d+ MB/],
    ['linux/listening-ports.sh', [0], /^tcp/m],
    ['linux/pending-updates.sh', [0, 1, 2], /^(No|A restart is required|Pending updates: \d+)/],
    ['linux/failed-services.sh', [0, 1, 2], /./],
    ['linux/log-errors.sh', [0, 1, 2], /./],
    ['linux/failed-logins.sh', [0, 1, 2], /^(Failed logins: \d+|Neither)/],
    ['linux/local-admins.sh', [0, 1], /^Accounts with id 0:\n {2}root$/m],
    ['linux/certificates.sh', [0, 1, 2], /^(Checked certificates: \d+|openssl is not installed)/m],
    ['linux/firewall.sh', [0, 1, 2], /./],
    ['linux/time-sync.sh', [0, 1, 2], /^Time: \d{4}-/],
    ['linux/smart-status.sh', [0, 1, 2], /./],
    ['linux/scheduled-tasks.sh', [0], /^Cron:/],
    ['linux/secure-boot.sh', [0, 1, 2], /^Secure Boot: /],
    ['linux/disk-encryption.sh', [0, 1, 2], /./],
    ['linux/software-inventory.sh', [0], /^\S+ \S+$/m],
    ['linux/domain-membership.sh', [0], /^Host name: .+\nDomain: /],
    ['macos/filevault.sh', [2], /this is no macOS/],
    ['macos/pending-updates.sh', [2], /this is no macOS/],
    ['macos/system-protection.sh', [2], /this is no macOS/],
    ['macos/firewall.sh', [2], /this is no macOS/],
    ['macos/local-admins.sh', [2], /this is no macOS/],
    ['macos/time-machine.sh', [2], /this is no macOS/],
    ['macos/software-inventory.sh', [2], /this is no macOS/],
  ])('runs %s on Linux', (file, codes, output) => {
    const { status, stdout, stderr } = spawnSync('bash', [fileOf(file)], { encoding: 'utf8' });
    expect(codes).toContain(status);
    expect(stdout).toMatch(output);
    expect(stderr).toBe('');
  });

  it('finds what it looks for: large files, and a full file system', () => {
    const shown = spawnSync(
      'bash',
      ['-c', `find() { ls -ln ${fileOf('manifest.json')}; }; . ${fileOf('unix/large-files.sh')}`],
      {
        encoding: 'utf8',
      },
    );
    expect(shown.stdout).toMatch(/ MB {2}\/.*manifest\.json$/m);
    const full =
      'df() { printf "Filesystem 1024-blocks Used Available Capacity Mounted on\\n/dev/a 1048576 1 1 95%% /data x\\n"; }';
    const disk = spawnSync('bash', ['-c', `${full}; . ${fileOf('unix/disk-space.sh')}`], { encoding: 'utf8' });
    expect([disk.status, disk.stdout]).toEqual([1, expect.stringContaining('Warning: /data x is at least 90 % full')]);
  });
});
