import {
  applyDecorators,
  Controller,
  Get,
  Header,
  Inject,
  Param,
  Post,
  Query,
  Redirect,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { parseCookie, stringifySetCookie } from 'cookie';
import { Public } from '@rmm/access';
import type { BodyRule } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { clientKey, getHeader, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { AccountAssetsService } from './account-assets.service.js';
import { AccountFormsService } from './account-forms.service.js';
import { AccountPagesService, isAccountPage, type PageResult } from './account-pages.service.js';
import { choosePageLanguage } from './page-language.js';
import { isPageLanguage } from './page-texts.js';

/** Paths outside /api/v1, for `serviceOptions`. */
export const ACCOUNT_PATHS = ['account', 'account/assets/:version/:file', 'account/:page'];

const LANGUAGE_COOKIE = 'service_language';
const LANGUAGE_COOKIE_SECONDS = 365 * 24 * 60 * 60;

/** Nothing inline, nothing from another host. `data:` is for the QR code of the authenticator app. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The forms that browsers without JavaScript post. */
export const ACCOUNT_FORM_BODY: BodyRule = {
  path: '/account',
  unprefixed: true,
  limitBytes: 16 * 1024,
  contentTypes: ['application/x-www-form-urlencoded'],
  read: 'buffer',
};

const PageHeaders = () =>
  applyDecorators(
    Header('Content-Type', 'text/html; charset=utf-8'),
    Header('Content-Security-Policy', PAGE_POLICY),
    Header('Referrer-Policy', 'no-referrer'),
    Header('Cross-Origin-Opener-Policy', 'same-origin'),
    Header('Cache-Control', 'no-store'),
  );

/** Serves the account pages, outside /api/v1. */
@ApiExcludeController()
@Controller('account')
export class AccountPagesController {
  constructor(
    private readonly pages: AccountPagesService,
    private readonly assets: AccountAssetsService,
    private readonly forms: AccountFormsService,
    private readonly cookies: SessionCookies,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Browsers keep the fragment, in which the callback of single sign-on passes its code. */
  @Get()
  @Public()
  @Redirect()
  @Header('Cache-Control', 'no-store')
  start(): { url: string; statusCode: number } {
    return {
      url: `${new URL(this.config.publicApiUrl).pathname.replace(/\/+$/, '')}/account/security`,
      statusCode: 302,
    };
  }

  @Get('assets/:version/:file')
  @Public()
  asset(
    @Param('version') version: string,
    @Param('file') name: string,
    @Res({ passthrough: true }) response: HttpResponse,
  ): StreamableFile {
    const { type, content } = this.assets.get(version, name);
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    response.setHeader('Content-Length', content.length);
    return new StreamableFile(content, { type });
  }

  @Get(':page')
  @Public()
  @PageHeaders()
  show(
    @Param('page') name: string,
    @Query() query: Record<string, unknown>,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): string {
    return this.render(name, query, { request, response });
  }

  /** Browsers without JavaScript post the forms that need no session; scripts call the API instead. */
  @Post(':page')
  @Public()
  @PageHeaders()
  async submit(
    @Param('page') name: string,
    @Query() query: Record<string, unknown>,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<string> {
    const fields = new URLSearchParams(request.rawBody?.toString('utf8') ?? '');
    const form = { page: name, token: query.token, fields, client: clientKey(request) };
    const result = (await this.forms.submit(form)) ?? undefined;
    // Another site must not sign its visitors in to an account of its own.
    const isOwnForm = getHeader(request, 'sec-fetch-site') === 'same-origin';
    if (result?.session && isOwnForm) this.cookies.set(request, response, result.session);
    return this.render(result ? name : 'not-found', query, { request, response, result });
  }

  private render(
    name: string,
    query: Record<string, unknown>,
    { request, response, result }: { request: HttpRequest; response: HttpResponse; result?: PageResult },
  ): string {
    const { cookie: cookies = '', 'accept-language': accepted } = request.headers;
    const cookie = parseCookie(cookies)[LANGUAGE_COOKIE];
    const language = choosePageLanguage({ query: query.lang, cookie, accepted });
    if (isPageLanguage(query.lang)) response.appendHeader('Set-Cookie', languageCookie(query.lang));
    response.setHeader('Content-Language', language);
    response.statusCode = result?.status ?? 200;
    if (isAccountPage(name)) return this.pages.render({ page: name, language, query, result });
    response.statusCode = 404;
    return this.pages.render({ page: 'not-found', language, query: {} });
  }
}

/** Remembers the language that the user chose; read by this controller only. */
const languageCookie = (value: string): string =>
  stringifySetCookie({
    name: LANGUAGE_COOKIE,
    value,
    path: '/',
    maxAge: LANGUAGE_COOKIE_SECONDS,
    httpOnly: true,
    sameSite: 'lax',
  });
