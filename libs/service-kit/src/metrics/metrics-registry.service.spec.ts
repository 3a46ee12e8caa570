import { MetricsRegistry } from './metrics-registry.service.js';

describe('MetricsRegistry', () => {
  let metrics: MetricsRegistry;

  beforeEach(() => {
    metrics = new MetricsRegistry('identity');
  });

  it('adds the name of the service to every metric', async () => {
    metrics.counter({ name: 'rmm_spec_total', help: 'Spec', labelNames: ['result'] }).inc({ result: 'sent' });
    const text = await metrics.registry.metrics();
    expect(text).toContain('rmm_spec_total{result="sent",service="identity"} 1');
  });

  it('reads a gauge when the metrics are requested', async () => {
    let size = 1;
    metrics.gauge({
      name: 'rmm_spec_size',
      help: 'Spec',
      collect() {
        this.set(size);
      },
    });
    size = 7;
    expect(await metrics.registry.metrics()).toContain('rmm_spec_size{service="identity"} 7');
  });

  it('serves the last value of a gauge whose source fails', async () => {
    const values = [() => Promise.resolve(7), () => Promise.reject(new Error('away'))];
    metrics.gauge({
      name: 'rmm_spec_size',
      help: 'Spec',
      async collect() {
        this.set((await values.shift()?.()) ?? 0);
      },
    });
    for (let scrape = 0; scrape < 2; scrape++) {
      expect(await metrics.registry.metrics()).toContain('rmm_spec_size{service="identity"} 7');
    }
    expect(values).toEqual([]);
  });

  it('serves the other metrics while a gauge waits for its source', async () => {
    metrics.gauge({ name: 'rmm_spec_hanging', help: 'Spec', collect: () => new Promise(() => undefined) });
    metrics.counter({ name: 'rmm_spec_total', help: 'Spec' }).inc();
    expect(await metrics.registry.metrics()).toContain('rmm_spec_total{service="identity"} 1');
  }, 4_500);

  it('counts observations in the buckets of a histogram', async () => {
    const histogram = metrics.histogram({ name: 'rmm_spec_seconds', help: 'Spec', buckets: [0.1, 1] });
    [0.05, 0.5, 5].forEach((seconds) => histogram.observe(seconds));
    const text = await metrics.registry.metrics();
    expect(text).toContain('rmm_spec_seconds_bucket{le="0.1",service="identity"} 1');
    expect(text).toContain('rmm_spec_seconds_bucket{le="1",service="identity"} 2');
    expect(text).toContain('rmm_spec_seconds_count{service="identity"} 3');
  });

  it('serves the trace of an observation in OpenMetrics', async () => {
    metrics.useOpenMetrics();
    const options = { name: 'rmm_spec_seconds', help: 'Spec', buckets: [1], enableExemplars: true };
    const histogram = metrics.histogram(options);
    metrics.counter({ name: 'rmm_spec_total', help: 'Spec' }).inc();
    histogram.observe({ value: 0.5, labels: {}, exemplarLabels: { trace_id: 'abc' } });
    histogram.observe({ value: 3, labels: {} });
    const text = await metrics.registry.metrics();
    expect(text).toMatch(/rmm_spec_seconds_bucket\{le="1",service="identity"\} 1 # \{trace_id="abc"\} 0\.5 [\d.]+\n/);
    expect(text).toMatch(/^# TYPE rmm_spec counter\nrmm_spec_total\{service="identity"\} 1$/m);
    expect(text).toMatch(/# EOF\n$/);
    expect(metrics.registry.contentType).toContain('application/openmetrics-text');
  });

  it('refuses a second metric of the same name, and shares none with another registry', () => {
    const options = { name: 'rmm_spec_total', help: 'Spec' };
    metrics.counter(options);
    expect(() => metrics.counter(options)).toThrow('already been registered');
    expect(() => new MetricsRegistry('credentials').counter(options)).not.toThrow();
  });

  it('includes the figures of the process on request', async () => {
    metrics.collectProcessMetrics();
    expect(await metrics.registry.metrics()).toContain('process_cpu_seconds_total');
  });
});
