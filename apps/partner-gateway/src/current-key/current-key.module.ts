import { Module } from '@nestjs/common';
import { CurrentKeyController } from './current-key.controller.js';
import { CurrentKeyService } from './current-key.service.js';

@Module({
  controllers: [CurrentKeyController],
  providers: [CurrentKeyService],
})
export class CurrentKeyModule {}
