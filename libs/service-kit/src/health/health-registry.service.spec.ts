import { HealthRegistry } from './health-registry.service.js';

describe('HealthRegistry', () => {
  it('begins in the state starting, without dependencies', () => {
    const registry = new HealthRegistry();
    expect(registry.state).toBe('starting');
    expect(registry.checks.size).toBe(0);
  });

  it('calls listeners once when the service was asked to stop', () => {
    const registry = new HealthRegistry();
    const listener = jest.fn();
    registry.onDraining(listener);
    registry.state = 'ready';
    expect(listener).not.toHaveBeenCalled();
    registry.state = 'draining';
    registry.state = 'draining';
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('has one check for each dependency, the one registered last', async () => {
    const registry = new HealthRegistry();
    registry.register('redis', () => Promise.reject(new Error('replaced')));
    registry.register('redis', () => Promise.resolve());
    registry.register('nats', () => Promise.resolve());
    expect([...registry.checks.keys()]).toEqual(['redis', 'nats']);
    await expect(registry.checks.get('redis')?.()).resolves.toBeUndefined();
  });
});
