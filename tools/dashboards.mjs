// Writes the Grafana dashboards of deploy/dashboards from the panels below: node tools/dashboards.mjs
import fs from 'node:fs';
import path from 'node:path';

const FOLDER = path.resolve(import.meta.dirname, '../deploy/dashboards');
const SERVICES = ['identity', 'credentials', 'partner-gateway', 'provisioning', 'webhook-dispatcher'];

/** Returns a panel: its title, unit, and queries with their legends. `$S` is the matcher of the service. */
const panel = (title, unit, ...queries) => ({ title, unit, queries });

const requests = [
  panel('Requests by status', 'reqps', [
    'sum by (status) (rate(rmm_http_requests_total{$S}[$__rate_interval]))',
    '{{status}}',
  ]),
  panel('Slowest routes, 99th percentile', 's', [
    'topk(8, histogram_quantile(0.99, sum by (route, le) (rate(rmm_http_request_duration_seconds_bucket{$S}[$__rate_interval]))))',
    '{{route}}',
  ]),
  panel('Refused by limits', 'reqps', [
    'sum by (limit, reason) (rate(rmm_rate_limit_refusals_total{$S}[$__rate_interval]))',
    '{{limit}} ({{reason}})',
  ]),
  panel('Authentications', 'reqps', [
    'sum by (kind, outcome) (rate(rmm_authentications_total{$S}[$__rate_interval]))',
    '{{kind}} {{outcome}}',
  ]),
];
const state = [
  panel('Ready replicas', 'short', ['sum(rmm_ready{$S})', 'ready'], ['count(rmm_ready{$S})', 'all']),
  panel('Dependencies', 'short', ['min by (dependency) (rmm_dependency_up{$S})', '{{dependency}}']),
  panel('Builds', 'short', ['count by (version, node) (rmm_build_info{$S})', '{{version}} on {{node}}']),
  panel('Memory', 'bytes', ['process_resident_memory_bytes{$S}', '{{instance}}']),
  panel('CPU', 'short', ['rate(process_cpu_seconds_total{$S}[$__rate_interval])', '{{instance}}']),
  panel('Delay of the event loop, 99th percentile', 's', ['nodejs_eventloop_lag_p99_seconds{$S}', '{{instance}}']),
];
const stores = [
  panel(
    'Connections to the database',
    'short',
    ['sum by (pool, state) (rmm_db_pool_connections{$S})', '{{pool}} {{state}}'],
    ['sum by (pool) (rmm_db_pool_waiting{$S})', '{{pool}} waiting'],
  ),
  panel(
    'Outbox: age of the oldest row',
    's',
    ['max(rmm_outbox_oldest_seconds{$S})', 'messages'],
    ['max(rmm_outbox_oldest_broadcast_seconds{$S})', 'broadcasts'],
  ),
  panel('Messages by outcome', 'ops', [
    'sum by (consumer, outcome) (rate(rmm_messages_total{$S}[$__rate_interval]))',
    '{{consumer}} {{outcome}}',
  ]),
  panel('Dead letters', 'short', ['max(rmm_dead_letter_messages{$S})', 'stored']),
  panel('Age of cached access', 's', ['max by (feed) (rmm_access_feed_age_seconds{$S})', '{{feed}}']),
  panel('Time to drop a withdrawn access, 99th percentile', 's', [
    'histogram_quantile(0.99, sum by (le) (rate(rmm_access_invalidation_seconds_bucket{$S}[$__rate_interval])))',
    'p99',
  ]),
  panel('Requests of other services, 99th percentile', 's', [
    'histogram_quantile(0.99, sum by (subject, le) (rate(rmm_rpc_served_seconds_bucket{$S}[$__rate_interval])))',
    '{{subject}}',
  ]),
];

const own = {
  identity: [
    panel('Logins', 'ops', [
      'sum by (method, outcome) (rate(rmm_logins_total[$__rate_interval]))',
      '{{method}} {{outcome}}',
    ]),
    panel('Locked accounts', 'short', ['sum(increase(rmm_account_locks_total[1h]))', 'in an hour']),
    panel(
      'Password hashes',
      'short',
      ['sum(rmm_password_hashes_running)', 'running'],
      ['sum(rmm_password_hashes_waiting)', 'waiting'],
      ['sum(increase(rmm_password_hashes_refused_total[5m]))', 'refused in 5 minutes'],
    ),
    panel('Mails', 'ops', ['sum by (outcome) (rate(rmm_mail_attempts_total[$__rate_interval]))', '{{outcome}}']),
    panel(
      'Mails that wait',
      'short',
      ['max(rmm_mail_waiting)', 'mails'],
      ['max(rmm_mail_oldest_due_seconds)', 'oldest due, in seconds'],
    ),
  ],
  'webhook-dispatcher': [
    panel(
      'From the event to its first attempt',
      's',
      [
        'histogram_quantile(0.5, sum by (le) (rate(rmm_webhook_first_attempt_delay_seconds_bucket[$__rate_interval])))',
        'p50',
      ],
      [
        'histogram_quantile(0.99, sum by (le) (rate(rmm_webhook_first_attempt_delay_seconds_bucket[$__rate_interval])))',
        'p99',
      ],
    ),
    panel('Outcomes', 'ops', ['sum by (status) (rate(rmm_webhook_outcomes_total[$__rate_interval]))', '{{status}}']),
    panel(
      'Events',
      'ops',
      ['sum by (result) (rate(rmm_webhook_events_total[$__rate_interval]))', '{{result}}'],
      ['max(rmm_webhook_events_lag)', 'not taken'],
    ),
    panel(
      'Attempts in flight and in memory',
      'short',
      ['sum(rmm_webhook_in_flight)', 'in flight'],
      ['sum(rmm_webhook_in_memory)', 'in memory'],
    ),
    panel('Duration of attempts, 95th percentile', 's', [
      'histogram_quantile(0.95, sum by (le) (rate(rmm_webhook_attempt_seconds_bucket[$__rate_interval])))',
      'p95',
    ]),
    panel(
      'Webhooks that wait',
      'short',
      ['sum by (reason) (rmm_webhook_waiting_webhooks)', '{{reason}}'],
      ['sum(rmm_webhook_breakers_open)', 'breaker open'],
    ),
    panel('Partitions owned', 'short', ['rmm_webhook_partitions_owned', '{{instance}}']),
  ],
};

const fleet = [
  panel('Ready replicas', 'short', ['sum by (service) (rmm_ready)', '{{service}}']),
  panel('Dependencies', 'short', ['min by (service, dependency) (rmm_dependency_up)', '{{service}}: {{dependency}}']),
  panel('Requests', 'reqps', ['sum by (service) (rate(rmm_http_requests_total[$__rate_interval]))', '{{service}}']),
  panel('Availability: share of 5xx, one hour', 'percentunit', ['slo:availability_error:ratio_rate1h', '{{class}}']),
  panel('Latency: share too slow, one hour', 'percentunit', ['slo:latency_error:ratio_rate1h', '{{class}}']),
  panel(
    'Deliveries and revocations too late, one hour',
    'percentunit',
    ['slo:delivery_age_error:ratio_rate1h', 'deliveries'],
    ['slo:revocation_error:ratio_rate1h', 'revocations'],
  ),
  panel('Logins', 'ops', ['sum by (outcome) (rate(rmm_logins_total[$__rate_interval]))', '{{outcome}}']),
  panel('Refused by limits', 'reqps', [
    'sum by (service, limit) (rate(rmm_rate_limit_refusals_total[$__rate_interval]))',
    '{{service}}: {{limit}}',
  ]),
  panel('Authentications refused', 'reqps', [
    'sum by (kind, outcome) (rate(rmm_authentications_total{outcome!="accepted"}[$__rate_interval]))',
    '{{kind}} {{outcome}}',
  ]),
  panel('Age of cached access', 's', ['max by (service, feed) (rmm_access_feed_age_seconds)', '{{service}}: {{feed}}']),
  panel('Outboxes: age of the oldest row', 's', ['max by (service) (rmm_outbox_oldest_seconds)', '{{service}}']),
  panel('Storage of the streams', 'percentunit', ['max(rmm_stream_storage_ratio)', 'used']),
  panel('Requests that wait for the database', 'short', [
    'sum by (service, pool) (rmm_db_pool_waiting)',
    '{{service}}: {{pool}}',
  ]),
  panel('Dead letters', 'short', ['max by (service) (rmm_dead_letter_messages)', '{{service}}']),
  panel('Events not taken by the dispatcher', 'short', ['max(rmm_webhook_events_lag)', 'events']),
];

const SOURCE = { type: 'prometheus', uid: '${source}' };
const WIDTH = 8;
const HEIGHT = 8;

function toPanel({ title, unit, queries }, index, matcher) {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    datasource: SOURCE,
    gridPos: { x: (index % 3) * WIDTH, y: Math.floor(index / 3) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(([expr, legendFormat], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: SOURCE,
      expr: expr.replaceAll('$S', matcher),
      legendFormat,
    })),
  };
}

function toDashboard(uid, title, panels, matcher = '') {
  return {
    uid,
    title,
    tags: ['rmm'],
    timezone: 'utc',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' }] },
    annotations: { list: [] },
    links: [{ type: 'dashboards', title: 'Fleet', tags: ['rmm'], asDropdown: true }],
    panels: panels.map((one, index) => toPanel(one, index, matcher)),
  };
}

/** Returns the dashboards by file name. */
export function dashboards() {
  const services = SERVICES.map((service) => {
    const panels = [...requests, ...(own[service] ?? []), ...stores, ...state];
    return [`${service}.json`, toDashboard(`rmm-${service}`, `RMM: ${service}`, panels, `service="${service}"`)];
  });
  return new Map([['fleet.json', toDashboard('rmm-fleet', 'RMM: fleet', fleet)], ...services]);
}

export const toText = (dashboard) => `${JSON.stringify(dashboard, null, 2)}\n`;

if (process.argv[1] === import.meta.filename) {
  fs.mkdirSync(FOLDER, { recursive: true });
  for (const [file, dashboard] of dashboards()) fs.writeFileSync(path.join(FOLDER, file), toText(dashboard));
}
