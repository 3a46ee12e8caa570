import { Module } from '@nestjs/common';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { BootstrapAdmin } from './bootstrap-admin.js';
import { FirstStart } from './first-start.js';

/** Seeds the system roles and the first administrator at start. */
@Module({
  imports: [PasswordsModule, RolesModule],
  providers: [BootstrapAdmin, FirstStart],
})
export class BootstrapModule {}
