import type { QueryRunner } from 'typeorm';
import { workerFunction } from '@rmm/persistence/testing';

/**
 * Creates the function that drops empty partitions of the outbox. The outbox has no keepDays, since an unpublished row
 * must never be dropped for its age: the relay deletes published rows, and this function, called by the worker login
 * with the rights of the owner, drops the days that are empty.
 */
export async function dropEmptyOutboxPartitions(q: QueryRunner): Promise<void> {
  const [{ schema }] = (await q.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
  await q.query(`
    create or replace function rmm_drop_empty_outbox_partitions() returns integer
    language plpgsql security definer
    set search_path = ${schema}, pg_temp
    set timezone = 'UTC'
    set lock_timeout = '1s'
    as $body$
    declare
      child record;
      filled boolean;
      dropped integer := 0;
    begin
      for child in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'outbox'::regclass and c.relname ~ '_p[0-9]{8}$'
           and to_timestamp(right(c.relname, 8), 'YYYYMMDD') < now() - interval '2 days'
      loop
        execute format('select exists (select from %I)', child.relname) into filled;
        continue when filled;
        execute format('lock table outbox, %I in access exclusive mode', child.relname);
        execute format('select exists (select from %I)', child.relname) into filled;
        continue when filled;
        execute format('drop table %I', child.relname);
        dropped := dropped + 1;
      end loop;
      return dropped;
    end
    $body$`);
  await workerFunction(q, 'rmm_drop_empty_outbox_partitions');
}
