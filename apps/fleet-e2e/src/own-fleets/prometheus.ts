import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually, type FleetHandle, freePort } from '@rmm/testing';
import { findProgram } from './own-fleet.js';

const SECONDS = { m: 60, h: 3_600, d: 86_400 };

/** The program, which `.ci/install-promtool` unpacks; undefined where Prometheus is not installed. */
export const PROMETHEUS = findProgram('prometheus', 'PROMETHEUS_PATH', 'promtool/usr/bin/prometheus');

interface Alerts {
  data: { alerts: { state: string; labels: { alertname: string } }[] };
}

/** A Prometheus that reads the services of a fleet by the rules of `deploy/alerts.yml`, whose periods are shorter. */
export class Prometheus {
  private constructor(
    private readonly url: string,
    private readonly child: ChildProcess,
    private readonly dir: string,
  ) {}

  /** @param periodDivisor  the number that the periods are divided by; the shortest of them needs values of three scrapes */
  static async start(program: string, { services }: FleetHandle, periodDivisor: number): Promise<Prometheus> {
    const dir = await mkdtemp(join(tmpdir(), 'rmm-prometheus-'));
    const rules = await readFile(resolve('deploy/alerts.yml'), 'utf8');
    await writeFile(join(dir, 'alerts.yml'), shortenPeriods(rules, periodDivisor));
    const targets = services.flatMap(({ instances }) => instances.map(({ port }) => `127.0.0.1:${port}`));
    const configuration = {
      global: { scrape_interval: '3500ms', scrape_timeout: '3500ms', evaluation_interval: '1s' },
      rule_files: ['alerts.yml'],
      scrape_configs: [{ job_name: 'fleet', honor_labels: true, static_configs: [{ targets }] }],
    };
    await writeFile(join(dir, 'prometheus.yml'), JSON.stringify(configuration));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=${address}`,
    ];
    const child = spawn(program, args, { stdio: 'ignore' });
    const prometheus = new Prometheus(`http://${address}`, child, dir);
    await eventually(() => prometheus.firing(), { timeoutMs: 60_000 });
    return prometheus;
  }

  /** Lists the names of the alerts that fire. */
  async firing(): Promise<string[]> {
    const response = await fetch(`${this.url}/api/v1/alerts`);
    const { data } = (await response.json()) as Alerts;
    const firing = data.alerts.filter(({ state }) => state === 'firing');
    return [...new Set(firing.map(({ labels }) => labels.alertname))];
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Divides ranges, offsets and waiting times of rules; the limits that they compare with stay as they are. */
const shortenPeriods = (rules: string, periodDivisor: number): string =>
  rules.replace(
    /(\[|offset |for: )(\d+)([mhd])\b/g,
    (_, before: string, count: string, unit: keyof typeof SECONDS) =>
      `${before}${Math.ceil((Number(count) * SECONDS[unit]) / periodDivisor)}s`,
  );
