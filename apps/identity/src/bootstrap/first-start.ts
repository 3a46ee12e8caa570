import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RoleSeeds } from '../roles/seed-roles.js';
import { BootstrapAdmin } from './bootstrap-admin.js';

/** What must stand before the first request: seeded roles, then the administrator. */
@Injectable()
export class FirstStart implements OnModuleInit {
  constructor(
    private readonly roles: RoleSeeds,
    private readonly admin: BootstrapAdmin,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.roles.seed();
    await this.admin.ensure();
  }
}
