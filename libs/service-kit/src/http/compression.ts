import { applyDecorators, UseInterceptors } from '@nestjs/common';
import type { Response } from 'express';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { CompressionInterceptor, isCompressible } from './compression.interceptor.js';

/** Below it the headers and the work outweigh what compression saves; in characters or bytes of JSON. */
const MIN_LENGTH = 1_024;

/** The default of gzip and level 4 of brotli take twice the CPU and save less than a tenth more of a list. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const GZIP_OPTIONS = { level: 1 };

const [brotliAsync, gzipAsync] = [promisify(brotliCompress), promisify(gzip)];

const ENCODERS = {
  br: (text: string | Buffer): Promise<Buffer> => brotliAsync(text, BROTLI_OPTIONS),
  gzip: (text: string | Buffer): Promise<Buffer> => gzipAsync(text, GZIP_OPTIONS),
};

type Encoding = keyof typeof ENCODERS;

/**
 * Compresses the JSON of successful GET responses with brotli or gzip when the client accepts it. Only for routes whose
 * responses contain no secret: the length of a compressed response reveals parts of it to those who can add text to it
 * and watch it (BREACH).
 * @see docs/reference/requests.md
 */
export const Compressed = (): ClassDecorator & MethodDecorator =>
  applyDecorators(UseInterceptors(CompressionInterceptor));

/**
 * Returns the encoding for a response, undefined when it is to be sent as it is: not declared, too short, or with a strong
 * entity tag, which names the exact bytes.
 */
export function encodingFor(response: Response, length: number): Encoding | undefined {
  const { req: request, statusCode } = response;
  const tag = response.getHeader('ETag');
  if (!isCompressible(response) || request.method !== 'GET' || statusCode !== 200) return undefined;
  if (length < MIN_LENGTH || (typeof tag === 'string' && !tag.startsWith('W/'))) return undefined;
  const accepted = request.acceptsEncodings('br', 'gzip', 'identity');
  return accepted === 'br' || accepted === 'gzip' ? accepted : undefined;
}

/** Compresses outside of the event loop and ends the response, unless its time limit has ended it meanwhile. */
export async function endCompressed(response: Response, text: string | Buffer, encoding: Encoding): Promise<void> {
  try {
    const bytes = await ENCODERS[encoding](text);
    if (response.headersSent || response.destroyed) return;
    response.setHeader('Content-Encoding', encoding);
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  } catch {
    response.destroy(); // without memory; a part of the response may be sent
  }
}
