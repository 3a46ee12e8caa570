import type { MigrationInterface, QueryRunner } from 'typeorm';

const OWN = `user_id = (SELECT nullif(current_setting('rmm.user_id', true), '')::uuid)`;
const OF_PROVIDER = `EXISTS (SELECT FROM sso_provider p WHERE p.id = sso_identity.provider_id)`;

/** Lets the login of the service delete the identities of the providers it may see, as when an issuer is replaced. */
export class ManageSsoIdentities1771200000000 implements MigrationInterface {
  name = 'ManageSsoIdentities1771200000000';

  async up(q: QueryRunner): Promise<void> {
    // To delete a row it must be visible.
    for (const command of ['select', 'delete']) {
      await q.query(`ALTER POLICY service_${command} ON sso_identity USING (${OWN} OR ${OF_PROVIDER})`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const command of ['select', 'delete']) {
      await q.query(`ALTER POLICY service_${command} ON sso_identity USING (${OWN})`);
    }
  }
}
