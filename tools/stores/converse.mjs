import net from 'node:net';

/**
 * Opens a connection, says something, and listens until `isComplete(text)`.
 * No client library: this runs before any dependency is installed.
 */
export function converse({ host, port, send, isComplete, timeoutMs = 1_500 }) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port });
    let heard = '';
    const finish = (settle, value) => {
      clearTimeout(timer);
      socket.destroy();
      settle(value);
    };
    const timer = setTimeout(() => finish(reject, new Error('no answer in time')), timeoutMs);
    socket.once('connect', () => send && socket.write(send));
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
      if (isComplete(heard)) finish(resolve, heard);
    });
    socket.once('error', (error) => finish(reject, error));
    socket.once('close', () => finish(reject, new Error('the connection was closed')));
  });
}

/** Whether anything listens there. */
export function isListening(host, port) {
  return converse({ host, port, send: null, isComplete: () => true, timeoutMs: 150 }).then(
    () => true,
    (error) => error.code !== 'ECONNREFUSED',
  );
}
