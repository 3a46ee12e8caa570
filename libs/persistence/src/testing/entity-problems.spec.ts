import { Column, Entity, PrimaryColumn } from 'typeorm';
import { PersistenceTestDatabase, SCHEMA } from '../../test/persistence-test-database.js';
import { entityProblems } from './entity-problems.js';

abstract class Owned {
  @Column('uuid', { name: 'partner_id' }) partnerId: string;
}

@Entity('parcel')
class Parcel extends Owned {
  @PrimaryColumn('uuid') id: string;
  @Column('text', { array: true }) tags: string[];
  @Column('timestamptz', { name: 'sent_at', nullable: true }) sentAt: Date | null;
}

@Entity('letter')
class Letter {
  @PrimaryColumn('uuid') id: string;
  @Column('text') body: string;
  @Column('integer') pages: number;
  @Column('text') stamp: string;
}

@Entity('postcard')
class Postcard {
  @PrimaryColumn('uuid') id: string;
}

describe('entityProblems', () => {
  let fleet: PersistenceTestDatabase;
  const problemsOf = async (entities: Parameters<typeof entityProblems>[2], exempt?: string[]) => {
    const problems = await entityProblems(fleet.worker, SCHEMA, entities, exempt);
    return problems.filter((problem) => /^(parcel|letter|postcard|outbox)\b/.test(problem));
  };

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
    await fleet.admin(`
      set search_path = ${SCHEMA};
      create table parcel (id uuid primary key, partner_id uuid not null, tags text[] not null, sent_at timestamptz(3),
        changed_xid xid8 not null default pg_current_xact_id()) partition by hash (id);
      create table parcel_p0 partition of parcel for values with (modulus 1, remainder 0);
      create table letter (id uuid primary key, body text, pages bigint not null, sender text not null);
      create table outbox (id uuid primary key)`);
  });
  afterAll(() => fleet.stop());

  it('finds nothing where entity and table agree', async () => {
    expect(await problemsOf([Parcel], ['letter'])).toEqual([]);
  });

  it('lists tables without an entity that are neither of libs nor exempt', async () => {
    expect(await problemsOf([], ['letter'])).toEqual(['parcel: the table has no entity']);
  });

  it('lists entities without a table', async () => {
    expect(await problemsOf([Parcel, Postcard], ['letter'])).toEqual(['postcard: the entity has no table']);
  });

  it('lists the columns that differ by name, type or nullability', async () => {
    expect(await problemsOf([Parcel, Letter], ['letter'])).toEqual([
      'letter.body: is text or null, the entity says text',
      'letter.pages: is bigint, the entity says integer',
      'letter.sender: the entity has no such column',
      'letter.stamp: the table has no such column',
    ]);
  });
});
