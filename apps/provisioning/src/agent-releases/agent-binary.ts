export const AGENT_OPERATING_SYSTEMS = ['linux', 'darwin', 'windows'] as const;
export const AGENT_ARCHITECTURES = ['amd64', 'arm64'] as const;

/** Returns the file name of an agent binary, null for an operating system or architecture that has none. */
export function agentFileName(os: string, arch: string): string | null {
  const isKnown =
    (AGENT_OPERATING_SYSTEMS as readonly string[]).includes(os) &&
    (AGENT_ARCHITECTURES as readonly string[]).includes(arch);
  return isKnown ? `rmm-agent-${os}-${arch}${os === 'windows' ? '.exe' : ''}` : null;
}
