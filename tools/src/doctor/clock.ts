import type { Report } from './finding.js';

/** Beyond this tokens, leases and rate limits of two machines disagree noticeably. */
const MAX_DIFFERENCE_MS = 2_000;

/** Compares a clock with the one of this machine, at the middle of the request that read it. */
export function checkClock(
  subject: string,
  theirs: number,
  requestedAt: number,
  report: Report,
  toleranceMs = 0,
): void {
  const difference = theirs - (requestedAt + Date.now()) / 2;
  if (Math.abs(difference) <= MAX_DIFFERENCE_MS + toleranceMs) return;
  report.problem(subject, {
    what: `its clock differs by ${(difference / 1_000).toFixed(1)} s from the one of this machine`,
    why: 'tokens, expiry dates and leases are computed with several clocks',
    action: 'synchronize both machines with NTP',
  });
}
