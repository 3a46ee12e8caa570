import type { INestApplication } from '@nestjs/common';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { DeadLetterMessagesRepository } from '../index.js';

describe('DeadLetterMessagesRepository', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let repository: DeadLetterMessagesRepository;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    repository = app.get(DeadLetterMessagesRepository);
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(() => testApp.admin.query('delete from dead_letter_message'));

  const save = (consumer: string, messageId: string, reason = 'Error') =>
    repository.save({ consumer, messageId, subject: 'a', payload: '{}', reason, deliveries: 2 });

  it('adds the deliveries of a message that is stored again, and replaces its reason', async () => {
    await save('a', '1', 'first');
    await save('a', '1', 'second');
    expect(await repository.list()).toMatchObject([{ reason: 'second', deliveries: 4 }]);
  });

  it('lists the oldest messages first, of one consumer or of all', async () => {
    await save('a', '1');
    await save('b', '2');
    await save('a', '3');
    expect((await repository.list({ consumer: 'a' })).map(({ messageId }) => messageId)).toEqual(['1', '3']);
    expect((await repository.list({ limit: 2 })).map(({ messageId }) => messageId)).toEqual(['1', '2']);
  });

  it('cuts a long reason, and counts and deletes messages', async () => {
    await save('a', '1', 'x'.repeat(5_000));
    const [{ id, reason }] = await repository.list();
    expect(reason).toHaveLength(1_000);
    expect(await repository.count()).toBe(1);
    await repository.delete(id);
    expect(await repository.count()).toBe(0);
  });
});
