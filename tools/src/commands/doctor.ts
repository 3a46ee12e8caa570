import { dim, green, red } from '../console.js';
import { checkCertificates } from '../doctor/certificates.js';
import { checkConfigurations } from '../doctor/configuration.js';
import { type Finding, Report } from '../doctor/finding.js';
import { checkNats } from '../doctor/nats.js';
import { checkPostgres } from '../doctor/postgres.js';
import { checkRedis } from '../doctor/redis.js';
import { checkServices } from '../doctor/services.js';
import { findTarget, type TargetOptions } from '../doctor/target.js';

/** Prints what is wrong with a fleet, why it matters and what to do. It changes nothing. @returns 1 when there is a problem */
export async function doctor({ json, ...options }: TargetOptions & { json?: boolean }): Promise<number> {
  const target = findTarget(options);
  const report = new Report();
  const configurations = await checkConfigurations(target.services, report);
  const instances = new Map(target.services.map(({ name, instances }) => [name, instances.length]));
  await checkPostgres(configurations, instances, report);
  await checkRedis(configurations, report);
  await checkNats(configurations, target.natsAdminUrl, report);
  await checkServices(target.services, configurations, report);
  await checkCertificates(configurations, report);
  console.log(json ? JSON.stringify({ ok: !report.hasProblems, ...report }, null, 2) : textOf(report));
  return report.hasProblems ? 1 : 0;
}

function textOf({ findings, checked }: Report): string {
  const problems = findings.filter(({ level }) => level === 'problem').length;
  const notes = findings.length - problems;
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
  const summary = problems ? red(count(problems, 'problem')) : green('no problem');
  const lines = [...findings].sort((a, b) => b.level.localeCompare(a.level)).map(lineOf);
  return [
    ...lines,
    dim(`checked: ${checked.join('; ')}`),
    `${summary}${notes ? `, ${count(notes, 'note')}` : ''}`,
  ].join('\n');
}

function lineOf({ level, subject, what, why, action }: Finding): string {
  return `${level === 'problem' ? red('✗') : '·'} ${subject}: ${what}. Why: ${why}. Do: ${action}.`;
}
