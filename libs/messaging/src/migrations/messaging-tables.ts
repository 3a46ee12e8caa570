import type { QueryRunner } from 'typeorm';
import { noLongerPartitioned, partitionedByTime, tenantTable } from '@rmm/persistence/testing';
import { dropEmptyOutboxPartitions } from './outbox-partitions.js';

/**
 * Creates the tables of messaging in the schema of a service; called by its first migration.
 * - outbox: committed messages that are not published yet; the service inserts, the relay (worker login) deletes.
 * - outbox_lease: aggregates leased by a relay, or delayed until their next try.
 * - outbox_broadcast: committed broadcasts that are not sent yet, apart from the rows of streams.
 * - inbox: messages whose effect was applied, per consumer.
 * - dead_letter_message: messages that could not be handled.
 */
export async function messagingTables(q: QueryRunner): Promise<void> {
  await outbox(q);
  await inbox(q);
  await q.query(`
    create table dead_letter_message (
      id         uuid primary key default gen_random_uuid(),
      consumer   text not null,
      message_id text not null,
      subject    text not null,
      payload    text not null,
      reason     text not null,
      deliveries integer not null,
      failed_at  timestamptz not null default now(),
      unique (consumer, message_id)
    )`);
  const worker = ['select', 'insert', 'update', 'delete'] as const;
  await tenantTable(q, { table: 'dead_letter_message', ownership: 'worker-only', worker });
}

/** Drops the tables again, in the `down` of that migration. */
export async function dropMessagingTables(q: QueryRunner): Promise<void> {
  await noLongerPartitioned(q, 'outbox');
  await noLongerPartitioned(q, 'inbox');
  await q.query('drop function if exists rmm_drop_empty_outbox_partitions()');
  await q.query('drop table if exists dead_letter_message, inbox, outbox_lease, outbox_broadcast, outbox');
}

/** Has no index but its key: the relay reads from the head, and every further index would slow down each request. */
async function outbox(q: QueryRunner): Promise<void> {
  await q.query(`
    create table outbox (
      seq          bigint generated always as identity,
      created_at   timestamptz not null default now(),
      id           uuid not null,
      aggregate_id text collate "C" not null,
      subject      text not null,
      payload      text not null,
      primary key (seq, created_at)
    ) partition by range (created_at)`);
  await q.query(`
    create table outbox_lease (
      lease_id     uuid primary key,
      aggregates   text[] collate "C" not null,
      leased_until timestamptz not null
    )`);
  await q.query(`
    create table outbox_broadcast (
      seq          bigint generated always as identity primary key,
      created_at   timestamptz not null default clock_timestamp(),
      subject      text not null,
      payload      text not null,
      leased_until timestamptz
    )`);
  const worker = ['select', 'insert', 'update', 'delete'] as const;
  await tenantTable(q, { table: 'outbox', ownership: 'worker-only', service: ['insert'], worker });
  await tenantTable(q, { table: 'outbox_lease', ownership: 'worker-only', worker });
  await tenantTable(q, { table: 'outbox_broadcast', ownership: 'worker-only', service: ['insert'], worker });
  await partitionedByTime(q, { table: 'outbox', column: 'created_at', everyDays: 1, aheadDays: 3 });
  await dropEmptyOutboxPartitions(q);
}

/** Stores a message longer than any stream does, so that a repeated delivery is recognized. */
async function inbox(q: QueryRunner): Promise<void> {
  await q.query(`
    create table inbox (
      consumer   text not null,
      message_id text not null,
      message_at timestamptz not null,
      handled_at timestamptz not null default now(),
      primary key (consumer, message_id, message_at)
    ) partition by range (message_at)`);
  await tenantTable(q, { table: 'inbox', ownership: 'worker-only', worker: ['select', 'insert'] });
  await partitionedByTime(q, { table: 'inbox', column: 'message_at', everyDays: 7, keepDays: 30, aheadDays: 7 });
}
