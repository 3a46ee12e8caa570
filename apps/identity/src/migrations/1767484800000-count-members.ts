import { tenantTable, withoutForcedRowSecurity } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

interface Counted {
  table: string;
  owner: string;
  orgId: string;
}

const COUNTED: readonly Counted[] = [
  { table: 'partner_membership', owner: 'partner_id', orgId: 'null::uuid' },
  { table: 'organization_membership', owner: 'org_id', orgId: 'org_id' },
];

const counts = ({ owner, orgId }: Counted, from: string) =>
  `select ${owner}, partner_id, ${orgId}, count(*)::integer from ${from} group by 1, 2, 3 order by 1`;

/**
 * How many members a tenant has, kept with every change: a page of users says its total without counting them.
 * Statement triggers, so that a thousand members at once are one change.
 */
export class CountMembers1767484800000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table member_count (
        owner_id uuid primary key,
        partner_id uuid not null references partner (id) on delete cascade,
        org_id uuid,
        members integer not null
      )`);
    await tenantTable(q, {
      table: 'member_count',
      ownership: 'dual',
      service: ['select', 'insert', 'update'],
      worker: ['select', 'insert', 'update'],
    });
    const tables = ['member_count', ...COUNTED.map(({ table }) => table)];
    await withoutForcedRowSecurity(q, tables, async () => {
      for (const counted of COUNTED) {
        await q.query(
          `insert into member_count (owner_id, partner_id, org_id, members) ${counts(counted, counted.table)}`,
        );
      }
    });
    for (const counted of COUNTED) await this.keepCounting(q, counted);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const { table } of COUNTED) {
      await q.query(`drop trigger count_joined on ${table}`);
      await q.query(`drop trigger count_left on ${table}`);
      await q.query(`drop function ${table}_joined(), ${table}_left()`);
    }
    await q.query('drop table member_count');
  }

  private async keepCounting(q: QueryRunner, counted: Counted): Promise<void> {
    const { table } = counted;
    await q.query(`
      create function ${table}_joined() returns trigger language plpgsql set search_path from current as $$
      begin
        insert into member_count (owner_id, partner_id, org_id, members) ${counts(counted, 'joined')}
        on conflict (owner_id) do update set members = member_count.members + excluded.members;
        return null;
      end $$`);
    await q.query(`
      create function ${table}_left() returns trigger language plpgsql set search_path from current as $$
      begin
        update member_count c set members = c.members - gone.members
        from (${counts(counted, 'gone')}) as gone(owner_id, partner_id, org_id, members)
        where c.owner_id = gone.owner_id;
        return null;
      end $$`);
    await q.query(`create trigger count_joined after insert on ${table}
      referencing new table as joined for each statement execute function ${table}_joined()`);
    await q.query(`create trigger count_left after delete on ${table}
      referencing old table as gone for each statement execute function ${table}_left()`);
  }
}
