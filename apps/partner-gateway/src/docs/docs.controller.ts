import { Controller, Get, Header, Inject, Param, Res, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { Compressed, type KitResponse } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG } from '../config.js';
import type { PartnerGatewayConfig } from '../config.js';
import { asyncApiDocument } from './async-api.js';
import { DocsAssetsService } from './docs-assets.service.js';
import { MergedOpenApiService } from './merged-openapi.service.js';

/** Allows inline styles, which Swagger UI sets; scripts and requests of this origin only. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves the docs page, and the OpenAPI and AsyncAPI documents of the whole fleet, outside /api/v1. */
@ApiExcludeController()
@Controller()
export class DocsController {
  private readonly page: string;
  private readonly events: object;

  constructor(
    private readonly assets: DocsAssetsService,
    private readonly openApi: MergedOpenApiService,
    @Inject(PARTNER_GATEWAY_CONFIG) config: PartnerGatewayConfig,
  ) {
    this.page = assets.page(new URL(config.publicApiUrl).pathname.replace(/\/+$/, ''));
    this.events = asyncApiDocument(config.publicApiUrl);
  }

  @Get('docs')
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', PAGE_POLICY)
  @Header('Cache-Control', 'no-cache')
  show(): string {
    return this.page;
  }

  @Get('docs/:asset')
  @Public()
  asset(@Param('asset') name: string, @Res({ passthrough: true }) response: KitResponse): StreamableFile | string {
    const { type, content } = this.assets.open(name);
    response.setHeader('Content-Type', type);
    response.setHeader('Cache-Control', 'public, max-age=3600');
    return typeof content === 'string' ? content : new StreamableFile(content, { type });
  }

  @Get('openapi.json')
  @Public()
  @Header('Cache-Control', 'no-cache')
  @Compressed()
  document(): Promise<OpenAPIObject> {
    return this.openApi.getDocument();
  }

  @Get('asyncapi.json')
  @Public()
  @Header('Cache-Control', 'no-cache')
  @Compressed()
  eventDocument(): object {
    return this.events;
  }
}
