// Healthy means ready: dependencies are reached and the service is not draining.
const reply = await fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`, { signal: AbortSignal.timeout(3_000) });
process.exit(reply.ok ? 0 : 1);
