import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { closedSignal } from './http-request.js';

describe('closedSignal', () => {
  const open = () => new ServerResponse(new IncomingMessage(new Socket()));

  it('is aborted when the client disconnects', () => {
    const response = open();
    const signal = closedSignal(response);
    expect(signal.aborted).toBe(false);
    response.emit('close');
    expect(signal.aborted).toBe(true);
  });

  it('is aborted at once when the client disconnected before', () => {
    const response = open();
    response.destroy();
    expect(closedSignal(response).aborted).toBe(true);
  });
});
