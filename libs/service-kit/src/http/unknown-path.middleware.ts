import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestHandler } from 'express';

/** Handles paths outside /api/v1 that no route has; Nest handles those inside. Installed after all routes. */
@Injectable()
export class UnknownPathHandler implements OnApplicationBootstrap {
  /** Set by `configureApp`. */
  handler?: RequestHandler;

  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    if (this.handler) this.host.httpAdapter.use(this.handler);
  }
}
