import { StartRefusal } from '../errors/start-refusal.js';

/** Names every bad variable at once. */
export class ConfigError extends StartRefusal {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}
