import type { Response } from 'express';

/**
 * Replaces `response.json` of Express, which parses the content type to add a charset and looks for an ETag that we do
 * not send, at a tenth of a request's CPU.
 */
export function writeJson(this: Response, body: unknown): Response {
  const text = JSON.stringify(body);
  if (!this.hasHeader('Content-Type')) this.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (this.statusCode !== 204 && this.statusCode !== 304) this.setHeader('Content-Length', Buffer.byteLength(text));
  this.end(text);
  return this;
}
