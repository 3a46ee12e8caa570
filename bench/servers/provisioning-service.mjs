// The service of `bench import` and `bench imports`: the built provisioning, with the delay of its event loop and the CPU
// of its samples.
import 'reflect-metadata';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { announce } from '../support/bench-server.mjs';
import { built, lib } from '../support/built-code.mjs';

const { startFromEnvironment } = await lib('service-kit');
const { AppModule } = await built('provisioning', 'app.module.js');
const { serviceOptions } = await built('provisioning', 'service-options.js');
const app = await startFromEnvironment(AppModule, serviceOptions, process.env);
const delays = monitorEventLoopDelay({ resolution: 1 });
let samples = [];
let sampler;

/**
 * Samples the CPU that the process used between two iterations of a timer of 2 ms. Unlike a delay it does not grow when
 * other processes use the cores, so it shows how long one piece of work holds the event loop. Only a benchmark that asks
 * for it has its cost.
 */
function startSampling() {
  delays.enable();
  let before = process.cpuUsage();
  sampler = setInterval(() => {
    const now = process.cpuUsage();
    samples.push((now.user + now.system - before.user - before.system) / 1_000);
    before = now;
  }, 2).unref();
}

/** Returns what was sampled since the question before; the first one starts it. */
const loop = () => {
  if (!sampler) startSampling();
  samples.sort((a, b) => a - b);
  const cpu = { cpuP99: samples[Math.floor(samples.length * 0.99)] ?? 0, cpuMax: samples.at(-1) ?? 0 };
  const measured = { p99: delays.percentile(99) / 1e6, max: delays.max / 1e6, ...cpu };
  delays.reset();
  samples = [];
  return measured;
};
announce(app.getHttpServer().address().port, {}, { loop, memory: () => process.memoryUsage().rss });
