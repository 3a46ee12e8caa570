import { Module } from '@nestjs/common';
import { PublicConfigController } from './public-config.controller.js';

/** Configuration that clients read before login. */
@Module({
  controllers: [PublicConfigController],
})
export class PublicConfigModule {}
