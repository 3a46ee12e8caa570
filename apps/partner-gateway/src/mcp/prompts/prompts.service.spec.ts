import { randomUUID } from 'node:crypto';
import { RpcMethodFailed } from '../mcp.errors.js';
import { PROMPTS } from './prompt-catalog.js';
import { PromptsService } from './prompts.service.js';

const ARGUMENTS: Record<string, object> = {
  'review-device': { deviceId: randomUUID() },
  'onboard-site': { siteName: 'North "A"' },
};

describe('PromptsService', () => {
  const prompts = new PromptsService();

  it('lists the five prompts with their arguments', () => {
    expect(prompts.list()).toMatchObject([
      { name: 'triage-offline-devices', arguments: [] },
      { name: 'review-device', arguments: [{ name: 'deviceId', required: true }] },
      { name: 'find-unmanaged-devices', arguments: [] },
      { name: 'review-scripts', arguments: [] },
      { name: 'onboard-site', arguments: [{ name: 'siteName', required: true }] },
    ]);
  });

  it.each(PROMPTS.map(({ name }) => name))('writes %s', (name) => {
    expect(prompts.get({ name, arguments: ARGUMENTS[name] })).toEqual({
      description: expect.any(String),
      messages: [{ role: 'user', content: { type: 'text', text: expect.stringMatching(/.{100}/) } }],
    });
  });

  it('names the site as it is given, in quotes', () => {
    const text = JSON.stringify(prompts.get({ name: 'onboard-site', arguments: ARGUMENTS['onboard-site'] }));
    expect(text).toContain('North \\\\\\"A\\\\\\"');
  });

  it.each([
    [{ name: 'none' }],
    [{}],
    [{ name: 'review-device' }],
    [{ name: 'review-device', arguments: { deviceId: 'x' } }],
    [{ name: 'review-device', arguments: [] }],
    [{ name: 'review-scripts', arguments: { more: 'x' } }],
    [{ name: 'onboard-site', arguments: { siteName: ' ' } }],
  ])('refuses %j with -32602', (params) => {
    expect(() => prompts.get(params)).toThrow(expect.objectContaining({ code: -32602, status: 200 }));
    expect(() => prompts.get(params)).toThrow(RpcMethodFailed);
  });
});
