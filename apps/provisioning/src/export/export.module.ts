import { Module } from '@nestjs/common';
import { ExportWalk } from './export-walk.js';
import { ExportRpc } from './export.rpc.js';
import { Snapshots } from './snapshot.js';

@Module({ controllers: [ExportRpc], providers: [ExportWalk, Snapshots] })
export class ExportModule {}
