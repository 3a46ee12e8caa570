import { randomInt } from 'node:crypto';

export interface ApiResponse {
  status: number;
  headers: Headers;
  /** Parsed JSON, or the text when it is not JSON. */
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- specs read any property of a body
  cookies: Record<string, string>;
}

export interface ApiCredentials {
  bearer?: string;
  apiKey?: string;
  cookies?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Returns a random private address, so that clients do not share limits per address. */
export const freshAddress = (): string => `10.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;

/** HTTP client of the edge. Each client has its own address: the edge is a trusted proxy, so X-Forwarded-For counts. */
export class ApiClient {
  constructor(
    readonly baseUrl: string,
    readonly credentials: ApiCredentials = {},
    readonly address: string = freshAddress(),
  ) {}

  /** Returns a client with the same address and other credentials. */
  as(credentials: ApiCredentials): ApiClient {
    return new ApiClient(this.baseUrl, credentials, this.address);
  }

  get(path: string): Promise<ApiResponse> {
    return this.send('GET', path);
  }
  post(path: string, body?: unknown): Promise<ApiResponse> {
    return this.send('POST', path, body);
  }
  put(path: string, body?: unknown): Promise<ApiResponse> {
    return this.send('PUT', path, body);
  }
  patch(path: string, body?: unknown): Promise<ApiResponse> {
    return this.send('PATCH', path, body);
  }
  delete(path: string): Promise<ApiResponse> {
    return this.send('DELETE', path);
  }

  /** @param path  below /api/v1, or an absolute path of the base URL when it begins with `//` */
  async send(
    method: string,
    path: string,
    body?: unknown,
    raw: { contentType?: string; headers?: Record<string, string> } = {},
  ): Promise<ApiResponse> {
    const url = path.startsWith('//') ? `${this.baseUrl}${path.slice(1)}` : `${this.baseUrl}/api/v1${path}`;
    const headers: Record<string, string> = {
      'x-forwarded-for': this.address,
      ...this.credentials.headers,
      ...raw.headers,
    };
    if (this.credentials.bearer) headers['authorization'] = `Bearer ${this.credentials.bearer}`;
    if (this.credentials.apiKey) headers['x-api-key'] = this.credentials.apiKey;
    const cookies = Object.entries(this.credentials.cookies ?? {});
    if (cookies.length) headers['cookie'] = cookies.map(([name, value]) => `${name}=${value}`).join('; ');
    if (body !== undefined) headers['content-type'] = raw.contentType ?? 'application/json';
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: parse(text),
      cookies: cookiesOf(response.headers),
    };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function cookiesOf(headers: Headers): Record<string, string> {
  const pairs = headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '');
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
