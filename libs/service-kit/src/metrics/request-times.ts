import prometheus from 'prom-client';
import type { MetricsRegistry } from './metrics-registry.js';

const NAME = 'rmm_http_request_duration_seconds';
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

interface Cell {
  labels: { method: string; route: string; status: number };
  counts: number[];
  sum: number;
  count: number;
}

/**
 * The histogram of request times by route, method and status. A cell is found by one map look-up, where the library's
 * histogram hashes its labels at every observation.
 */
export class RequestTimes {
  readonly name = NAME;
  readonly help = 'How long requests took, in seconds';
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  private readonly cells = new Map<string, Cell>();

  constructor(metrics: MetricsRegistry) {
    metrics.registry.registerMetric(this as unknown as prometheus.Metric);
  }

  observe(method: string, route: string, status: number, seconds: number): void {
    const cell = this.cellOf(method, route, status);
    cell.count++;
    cell.sum += seconds;
    for (let index = 0; index < BUCKETS.length; index++) {
      if (seconds <= BUCKETS[index]) {
        cell.counts[index]++;
        return;
      }
    }
  }

  /** What prom-client asks of a metric. */
  get(): unknown {
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values: [...this.cells.values()].flatMap(valuesOf),
    };
  }

  reset(): void {
    this.cells.clear();
  }

  private cellOf(method: string, route: string, status: number): Cell {
    const key = `${status} ${method} ${route}`;
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = { labels: { method, route, status }, counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
      this.cells.set(key, cell);
    }
    return cell;
  }
}

function valuesOf({ labels, counts, sum, count }: Cell): unknown[] {
  let below = 0;
  const buckets = BUCKETS.map((le, index) => ({
    metricName: `${NAME}_bucket`,
    labels: { ...labels, le },
    value: (below += counts[index]),
  }));
  return [
    ...buckets,
    { metricName: `${NAME}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: count },
  ];
}
