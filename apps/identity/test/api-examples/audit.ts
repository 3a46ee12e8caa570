import type { Test } from 'supertest';
import { eventually } from '@rmm/testing-services';
import { expectStatus, type IdentityReplica } from '../identity-test-app.js';
import { registerPartner } from '../users.js';

/** Reads a response as text, whatever its type. */
export const asText = (request: Test): Test =>
  request.buffer(true).parse((response, done) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => done(null, Buffer.concat(chunks).toString()));
  });

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callAuditExamples(identity: IdentityReplica): Promise<void> {
  const { bearer } = await registerPartner(identity);
  await eventually(async () => {
    const { body } = await identity.get('/audit-logs?action=partner.create', { bearer });
    if (body.data.length === 0) throw new Error('the sign-up is not sealed yet');
  });
  expectStatus(await identity.get('/audit-logs?limit=1', { bearer }), 200);
  for (const format of ['csv', 'ndjson']) {
    expectStatus(await identity.get(`/audit-logs/export?format=${format}`, { bearer, send: asText }), 200);
  }
  expectStatus(await identity.get('/audit-logs/verify?from=2026-01-01T00:00:00Z', { bearer }), 200);
}
