import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { FAKE_VENDORS, type FakeVendor, type FakeVendorName } from './fake-psa-vendors.js';

export interface FakeCompany {
  id: number | string;
  name: string;
  /** Further fields as the vendor names them. */
  fields?: Record<string, unknown>;
  /** Fields of its main site, for vendors that list sites apart from companies. */
  site?: Record<string, unknown>;
}

export interface FakePsaRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface FakePsaResponse {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  /** Sent instead of `json`. */
  text?: string;
  /** Sends this many bytes of white space before the body. */
  padding?: number;
}

/** Replaces a response: by itself, by none (`hang`), or by a lost connection (`reset`). */
export type FakePsaFault = FakePsaResponse | 'hang' | 'reset';

/** Known defects of the vendors, which a fake shows on demand. */
export interface FakePsaDefects {
  /** Rows of a page that access rules hide, of every hundred; the page is shorter then. */
  hiddenRows?: number;
  /** The page size of the server where it ignores the one that is asked. */
  pageSize?: number;
  /** Uses after which a token is refused. */
  tokenUses?: number;
  /** Sites of each company besides the main one, for vendors that list sites apart from companies. */
  branches?: number;
  /** The edition of a vendor with other paths. */
  otherEdition?: boolean;
  /** Replaces the links to next pages. */
  nextLink?: (link: string, page: number) => string;
}

/** A PSA on loopback that speaks the wire format of its vendor, checks credentials and records requests. */
export class FakePsa {
  readonly requests: FakePsaRequest[] = [];
  companies: FakeCompany[];
  defects: FakePsaDefects = {};
  /** Returns what happens instead of the response to the n-th request, counted from 1. */
  fault: (n: number, request: FakePsaRequest) => FakePsaFault | undefined = () => undefined;
  private readonly vendor: FakeVendor;
  private server?: Server;
  private readonly tokens = new Map<string, number>();

  /** @param companies  their number, or themselves */
  constructor(
    readonly name: FakeVendorName,
    companies: number | FakeCompany[] = 3,
  ) {
    this.vendor = FAKE_VENDORS[name];
    this.companies = typeof companies === 'number' ? companiesOf(companies) : companies;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server?.address() as AddressInfo).port}`;
  }

  /** The credentials that the fake accepts, as a connection has them. */
  get credentials(): Record<string, string> {
    return { baseUrl: `${this.origin}${this.vendor.basePath}`, ...this.vendor.credentials };
  }

  async start(): Promise<this> {
    this.server = createServer((request, response) => void this.serve(request, response));
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise<void>((resolve) => (this.server ? this.server.close(() => resolve()) : resolve()));
  }

  /** Issues a token that is accepted as often as the defects say. */
  issueToken(): string {
    const token = `token-${this.tokens.size + 1}`;
    this.tokens.set(token, this.defects.tokenUses ?? Number.POSITIVE_INFINITY);
    return token;
  }

  /** Uses a token once. @returns false when it is unknown or expired */
  useToken(token: string): boolean {
    const left = this.tokens.get(token) ?? 0;
    this.tokens.set(token, left - 1);
    return left > 0;
  }

  /** Returns the link to another page of a request, or what the defects make of it. */
  nextLink(request: FakePsaRequest, changes: Record<string, string>, page: number): string {
    const query = new URLSearchParams(request.query);
    for (const [name, value] of Object.entries(changes)) query.set(name, value);
    const link = `${this.origin}${request.path}?${query.toString()}`;
    return this.defects.nextLink?.(link, page) ?? link;
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const url = new URL(incoming.url ?? '/', 'http://fake');
    const request: FakePsaRequest = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    this.requests.push(request);
    const outcome = this.fault(this.requests.length, request) ?? this.vendor.respond(this, request);
    if (outcome === 'hang') return;
    if (outcome === 'reset') return void incoming.socket.destroy();
    const { status = 200, headers = {}, json, text, padding = 0 } = outcome;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(' '.repeat(padding) + (text ?? JSON.stringify(json ?? {})));
  }
}

/** Returns companies with rising ids and names. */
export const companiesOf = (count: number, from = 1): FakeCompany[] =>
  Array.from({ length: count }, (_, index) => ({ id: from + index, name: `Company ${from + index}` }));
