import { Module } from '@nestjs/common';
import { SsoReauthGrantsService } from './sso-reauth-grants.service.js';

/** Proofs of a recent sign-in at an identity provider, for features that ask for one instead of a password. */
@Module({ providers: [SsoReauthGrantsService], exports: [SsoReauthGrantsService] })
export class SsoReauthGrantsModule {}
