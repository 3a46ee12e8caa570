import { Module } from '@nestjs/common';
import { AutoFail } from './auto-fail.js';
import { AutoFailRepository } from './auto-fail.repository.js';

@Module({
  providers: [AutoFail, AutoFailRepository],
  exports: [AutoFail],
})
export class AutoFailModule {}
