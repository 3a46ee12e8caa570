import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { dim, FleetError } from '../console.js';
import { serve } from '../edge/edge.js';

export interface ReceiverOptions {
  port: number;
  secret?: string;
  fail: number;
  count?: number;
  body?: boolean;
}

/** Runs a webhook receiver that prints what arrives, and verifies it when it knows the secret. */
export async function receiver({ port, secret, fail, count, body: printBody }: ReceiverOptions): Promise<void> {
  const attempts = new Map<string, number>();
  let received = 0;
  const { server } = await serve(port, (request, response) => {
    void text(request).then((body) => {
      received += 1;
      const { headers } = request;
      const delivery = String(headers['x-service-delivery-id'] ?? received);
      const attempt = (attempts.get(delivery) ?? 0) + 1;
      attempts.set(delivery, attempt);
      const status = received <= fail ? 503 : 200;
      const isLast = received === count;
      response.writeHead(status, { 'content-type': 'text/plain' });
      response.end('received', () => isLast && server.close().closeIdleConnections());
      const type = String(headers['x-service-event-type'] ?? 'request');
      const signature = checkSignature(headers, body, secret);
      console.log(`${type}  attempt ${attempt}  signature ${signature}  responded ${status}`);
      if (printBody) console.log(dim(body));
    });
  }).catch(() => {
    throw new FleetError(`Port ${port} is taken. Choose another with --port, and use it in the URL of the webhook.`);
  });
  console.log(dim(`listening at http://127.0.0.1:${port}/ ; the fleet must run with --local-receivers`));
}

/** Verifies the HMAC of the timestamp header, a dot and the body. After a rotation the old secret signs, too, for a while. */
function checkSignature(headers: IncomingHttpHeaders, body: string, secret: string | undefined): string {
  if (!headers['x-service-signature']) return 'absent';
  if (!secret) return 'not checked';
  const signed = `${String(headers['x-service-signature-timestamp'])}.${body}`;
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`);
  const matches = (name: string) => {
    const given = Buffer.from(String(headers[name] ?? ''));
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  if (matches('x-service-signature')) return 'good';
  return matches('x-service-signature-previous') ? 'good (previous secret)' : 'BAD';
}
