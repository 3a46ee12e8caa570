/** A request as `FakeFetch` received it. */
export interface SentRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } | Error;

/** Takes the place of `fetch`: responds with the given replies in turn, and keeps the requests. */
export class FakeFetch {
  readonly requests: SentRequest[] = [];

  constructor(private readonly replies: Reply[]) {}

  readonly fetch = (async (url: string, init: RequestInit) => {
    this.requests.push({
      method: init.method ?? '',
      url,
      headers: init.headers as Record<string, string>,
      body: typeof init.body === 'string' ? JSON.parse(init.body) : init.body,
    });
    const reply = this.replies.shift();
    if (reply === undefined) throw new Error('one request too many');
    if (reply instanceof Error) throw reply;
    const { status = 200, headers = {}, body } = reply;
    const text = body === undefined ? null : JSON.stringify(body);
    return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } });
  }) as unknown as typeof fetch;
}
