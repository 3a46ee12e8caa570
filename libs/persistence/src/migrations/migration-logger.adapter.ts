import { Logger } from '@nestjs/common';
import type { Logger as TypeOrmLogger } from 'typeorm';

/** TypeORM writes to the console by itself; what it says about migrations belongs into the service's log. */
export class MigrationLogger implements TypeOrmLogger {
  private readonly logger = new Logger('Migrations');

  logMigration(message: string): void {
    this.logger.log(message);
  }

  logQuery(): void {
    return;
  }
  logQueryError(): void {
    return;
  }
  logQuerySlow(): void {
    return;
  }
  logSchemaBuild(): void {
    return;
  }
  log(): void {
    return;
  }
}
