import { Body, Controller, Delete, Get, Module, Post, Query, Req, Res } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { Response } from 'express';
import type { Server } from 'node:http';
import { type RateLimit, RateLimits } from '@rmm/rate-limits';
import { FLEET_ENVIRONMENT } from '@rmm/testing-services';
import {
  FormFile,
  IsInteger,
  IsIsoDateTime,
  IsName,
  IsNestedList,
  IsUuid,
  IsWordList,
  PageQueryDto,
  TakesFormFile,
  UuidParam,
} from '@rmm/validation';
import {
  type AppOptions,
  type AuthenticatedRequest,
  ConflictError,
  configureApp,
  Compressed,
  currentContext,
  Deprecated,
  type FleetConfig,
  HealthRegistry,
  Logger,
  readConfig,
  readFleetConfig,
  ServiceKitModule,
} from '../src/index.js';

export const GUESSES: RateLimit = {
  name: 'guesses',
  limit: 2,
  windowSeconds: 60,
  onRedisDown: 'refuse',
  countRefused: true,
};

class RowDto {
  @IsName({ max: 5 })
  timezone: string;
}

class ThingDto {
  @IsName()
  name: string;
  @IsInteger({ min: 1, max: 10, optional: true })
  size?: number;
  @IsIsoDateTime({ optional: true, nullable: true })
  expiresAt?: Date | null;
  @IsWordList({ values: ['read', 'write'], optional: true })
  scopes?: string[];
  @IsNestedList(() => RowDto, { optional: true })
  rows?: RowDto[];
}

class ThingQueryDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;
}

class ThingTaken extends ConflictError {
  override code = 'thing_taken';
  override error = 'Thing taken';
}

@Controller('things')
class ThingsController {
  constructor(private readonly limits: RateLimits) {}

  @Get()
  list(@Query() query: ThingQueryDto): object {
    return { ...query };
  }

  @Post()
  create(@Body() dto: ThingDto): ThingDto {
    return dto;
  }

  @Post('import')
  import(@Body() dto: ThingDto): object {
    return { length: dto.name.length };
  }

  @Post('picture')
  @TakesFormFile({ field: 'file', maxBytes: 1_000 })
  picture(@FormFile() file: Buffer): object {
    return { text: file.toString(), requestId: currentContext()?.requestId };
  }

  @Get('old')
  @Deprecated({ since: '2026-01-15', sunset: '2026-12-01', successor: 'GET /things' })
  listOld(@Query() query: ThingQueryDto): object {
    return { ...query };
  }

  @Get('many')
  @Compressed()
  listMany(@Query('count') count: string, @Query('tag') tag: string, @Res({ passthrough: true }) response: Response) {
    if (!count) throw new ThingTaken(undefined, { message: 'Take another. '.repeat(200) });
    if (tag) response.setHeader('ETag', tag);
    return { data: Array.from({ length: Number(count) }, (_, index) => ({ index, name: `Thing ${index}` })) };
  }

  @Get('long')
  listLong(): object {
    return { text: 'long '.repeat(1_000) };
  }

  @Get('context')
  context(): object {
    return { ...currentContext() };
  }

  @Get('taken')
  taken(): never {
    throw new ThingTaken(undefined, { extras: { count: 3, code: 'not this' }, message: 'Take another.' });
  }

  @Get('crash')
  crash(): never {
    throw new Error('select * from secret_table');
  }

  @Get('guess')
  async guess(): Promise<object> {
    await this.limits.hit(GUESSES, 'any-client');
    return {};
  }

  @Get('as-user')
  asUser(@Req() request: AuthenticatedRequest): object {
    request.caller = { actor: { type: 'user', id: 'u-1' }, partnerId: 'p-1', orgId: null, userId: 'u-1' };
    return {};
  }

  @Post('as-key')
  asKey(@Req() request: AuthenticatedRequest): object {
    request.caller = { actor: { type: 'api_key', id: 'k-1' }, partnerId: 'p-1', orgId: 'o-1' };
    return { text: 'x'.repeat(1_000) };
  }

  @Get('slow')
  slow(): Promise<object> {
    return new Promise((resolve) => slowRequests.push(() => resolve({ done: true })));
  }

  @Get('slow/committed')
  slowAfterCommit(): Promise<object> {
    currentContext()?.deadline?.startCommit();
    return this.slow();
  }

  @Get('begun')
  begun(@Res() response: { write(text: string): void }): never {
    response.write('half an ');
    throw new Error('too late');
  }

  @Get(':id')
  get(@UuidParam('id', 'Thing') id: string): object {
    return { id };
  }

  @Delete(':id')
  remove(@UuidParam('id', 'Thing') id: string, @Body() body: unknown): object {
    return { id, body };
  }
}

/** Calls that end the waiting requests of `/things/slow`. */
export const slowRequests: (() => void)[] = [];

export const configOf = (changes: Record<string, string> = {}): Readonly<FleetConfig> =>
  readConfig({ ...FLEET_ENVIRONMENT, ...changes }, (v) => readFleetConfig(v, 'provisioning'));

/** A module for `startService`. */
export function thingsModule(config: FleetConfig) {
  @Module({ imports: [ServiceKitModule.forRoot(config, 'provisioning')], controllers: [ThingsController] })
  class ThingsModule {}
  return ThingsModule;
}

/** A service with one controller, listening nowhere: supertest takes its server. */
export class KitTestApp {
  private constructor(
    readonly app: NestExpressApplication,
    readonly server: Server,
    /** Everything that was logged, as objects. */
    readonly logged: Record<string, unknown>[],
  ) {}

  static async start(changes: Record<string, string> = {}, options: Partial<AppOptions> = {}): Promise<KitTestApp> {
    const config = configOf(changes);
    const logged: Record<string, unknown>[] = [];
    const logger = Logger.create({
      service: 'provisioning',
      level: 'trace',
      sink: { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    });
    const testing = await Test.createTestingModule({ imports: [thingsModule(config)] })
      .overrideProvider(Logger)
      .useValue(logger)
      .compile();
    const app = testing.createNestApplication<NestExpressApplication>({ bodyParser: false });
    configureApp(app, { config, openApi: { title: 'Tiny', description: 'For specs' }, ...options });
    await app.init();
    app.get(HealthRegistry).state = 'ready';
    return new KitTestApp(app, app.getHttpServer(), logged);
  }

  stop(): Promise<void> {
    return this.app.close();
  }
}
