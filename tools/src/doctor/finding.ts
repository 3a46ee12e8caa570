/** One thing that is wrong: what, why it matters and what to do. A note does not change the exit code. */
export interface Finding {
  level: 'problem' | 'note';
  /** The part of the fleet: a service, a store, a variable. */
  subject: string;
  what: string;
  why: string;
  action: string;
}

export type FindingText = Omit<Finding, 'level' | 'subject'>;

/** Collects the findings of all checks, and what was checked, so that a result without findings shows its extent. */
export class Report {
  readonly findings: Finding[] = [];
  readonly checked: string[] = [];

  problem(subject: string, text: FindingText): void {
    this.findings.push({ level: 'problem', subject, ...text });
  }

  note(subject: string, text: FindingText): void {
    this.findings.push({ level: 'note', subject, ...text });
  }

  get hasProblems(): boolean {
    return this.findings.some(({ level }) => level === 'problem');
  }
}

/** Returns the first line of an error's text; a refused connection has only a code. */
export function reasonOf(error: unknown): string {
  const { message, code, errors } = error as NodeJS.ErrnoException & { errors?: Error[] };
  return (message || errors?.[0]?.message || code || String(error)).split('\n')[0] ?? '';
}
