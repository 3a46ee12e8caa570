import { Module } from '@nestjs/common';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { UsersModule } from '../users/users.module.js';
import { BootstrapService } from './bootstrap.service.js';

/** Creates the system roles and the first platform administrator at start. */
@Module({ imports: [PasswordsModule, RolesModule, UsersModule], providers: [BootstrapService] })
export class BootstrapModule {}
