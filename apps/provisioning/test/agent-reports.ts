import { readFileSync } from 'node:fs';
import path from 'node:path';

export const AGENTS = ['go', 'powershell'] as const;
export const REPORTS = ['hardware', 'software', 'disks', 'network', 'posture'] as const;

type Agent = (typeof AGENTS)[number];
type Report = (typeof REPORTS)[number];

const read = (agent: Agent, file: string): unknown =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, 'agent-reports', agent, `${file}.json`), 'utf8'));

/** Returns a recorded body of an agent that is written in this language. */
export const recordedReport = (agent: Agent, report: Report): object => read(agent, report) as object;

/** Returns what the columns of the table are once it is stored. */
export const storedColumns = (agent: Agent, report: Report): unknown =>
  (read(agent, 'stored') as Record<Report, unknown>)[report];
