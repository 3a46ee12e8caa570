/** The tables of identity, in the order they are made. Row security and grants follow in `create-identity.ts`. */
export const TABLES: readonly string[] = [
  `create table partner (
    id uuid primary key default gen_random_uuid(),
    name text not null check (length(name) between 1 and 255),
    slug text not null constraint partner_slug_key unique check (length(slug) between 1 and 80),
    type text not null default 'msp' check (type in ('msp', 'enterprise', 'internal')),
    plan text not null default 'standard',
    status text not null default 'active'
      check (status in ('pending', 'active', 'suspended', 'churned', 'offboarding')),
    settings jsonb not null default '{}',
    max_organizations integer check (max_organizations >= 0),
    max_devices integer check (max_devices >= 0),
    timezone text not null default 'UTC',
    billing_email text,
    currency_code text not null default 'USD' check (currency_code ~ '^[A-Z]{3}$'),
    signup_ip text,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  )`,

  // Policies of an organization live here, its record in provisioning.
  `create table organization_security_policy (
    org_id uuid primary key,
    partner_id uuid not null references partner (id) on delete cascade,
    settings jsonb not null default '{}',
    version bigint not null default 1,
    updated_at timestamptz not null default now()
  )`,

  `create table user_account (
    id uuid primary key default gen_random_uuid(),
    email text not null constraint user_account_email_key unique
      check (email = lower(email) and length(email) between 3 and 255),
    name text not null check (length(name) between 1 and 255),
    password_hash text,
    status text not null default 'invited' check (status in ('active', 'invited', 'disabled')),
    disabled_reason text,
    is_platform_admin boolean not null default false,
    requires_setup boolean not null default false,
    setup_completed_at timestamptz,
    avatar_url text,
    preferences jsonb not null default '{}',
    mfa_method text check (mfa_method in ('totp', 'sms', 'passkey')),
    mfa_enabled boolean not null default false,
    first_factor_at timestamptz,
    mfa_grace_granted_at timestamptz,
    mfa_enrollment_deadline timestamptz,
    phone_number text,
    phone_verified boolean not null default false,
    email_verified_at timestamptz,
    pending_email text,
    pending_email_requested_at timestamptz,
    auth_epoch integer not null default 1,
    mfa_epoch integer not null default 1,
    email_epoch integer not null default 1,
    reset_epoch integer not null default 1,
    last_login_at timestamptz,
    password_changed_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check (mfa_enabled = (mfa_method is not null))
  )`,

  `create table permission (
    id uuid primary key default gen_random_uuid(),
    resource text not null check (length(resource) between 1 and 100),
    action text not null check (length(action) between 1 and 50),
    description text,
    unique (resource, action)
  )`,

  `create table role (
    id uuid primary key default gen_random_uuid(),
    partner_id uuid references partner (id) on delete cascade,
    org_id uuid,
    parent_role_id uuid references role (id),
    scope text not null check (scope in ('system', 'partner', 'organization')),
    name text not null check (length(name) between 1 and 100),
    description text,
    is_system boolean not null default false,
    force_mfa boolean not null default false,
    system_key text,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check (org_id is null or partner_id is not null),
    check (parent_role_id <> id),
    check (is_system or partner_id is not null)
  )`,
  `create unique index role_seeded_key on role (system_key) where partner_id is null`,
  `create unique index role_partner_copy_key on role (partner_id, system_key) where partner_id is not null`,
  `create index role_owner_idx on role (partner_id, org_id)`,
  `create index role_parent_idx on role (parent_role_id)`,

  `create table role_permission (
    role_id uuid not null references role (id) on delete cascade,
    permission_id uuid not null references permission (id),
    constraints jsonb,
    primary key (role_id, permission_id)
  )`,

  `create table partner_membership (
    id uuid primary key default gen_random_uuid(),
    partner_id uuid not null references partner (id) on delete cascade,
    user_id uuid not null references user_account (id) on delete cascade,
    role_id uuid not null references role (id),
    org_access text not null default 'all' check (org_access in ('all', 'selected', 'none')),
    org_ids uuid[] not null default '{}',
    invited_by uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint partner_membership_user_key unique (partner_id, user_id),
    check (org_access = 'selected' or org_ids = '{}')
  )`,
  `create index partner_membership_user_idx on partner_membership (user_id)`,
  `create index partner_membership_role_idx on partner_membership (role_id)`,
  `create index partner_membership_listing_idx on partner_membership (partner_id, created_at desc, id desc)`,

  `create table organization_membership (
    id uuid primary key default gen_random_uuid(),
    partner_id uuid not null references partner (id) on delete cascade,
    org_id uuid not null,
    user_id uuid not null references user_account (id) on delete cascade,
    role_id uuid not null references role (id),
    site_ids uuid[],
    device_group_ids uuid[],
    invited_by uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint organization_membership_user_key unique (org_id, user_id)
  )`,
  `create index organization_membership_user_idx on organization_membership (user_id)`,
  `create index organization_membership_role_idx on organization_membership (role_id)`,
  `create index organization_membership_listing_idx on organization_membership (org_id, created_at desc, id desc)`,

  `create table session_family (
    id uuid primary key,
    user_id uuid not null references user_account (id) on delete cascade,
    scope text not null check (scope in ('system', 'partner', 'organization')),
    partner_id uuid,
    org_id uuid,
    mfa boolean not null,
    method text not null check (method in ('password', 'passkey', 'sso', 'invite', 'registration')),
    auth_epoch integer not null,
    mfa_epoch integer not null,
    password_proof_at timestamptz,
    factor_proof_at timestamptz,
    ip_address text check (length(ip_address) <= 45),
    user_agent text,
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    absolute_expires_at timestamptz not null,
    revoked_at timestamptz,
    revoked_reason text
  )`,
  `create index session_family_user_idx on session_family (user_id) where revoked_at is null`,
  `create index session_family_end_idx on session_family (absolute_expires_at)`,

  `create table refresh_token (
    id uuid primary key default gen_random_uuid(),
    family_id uuid not null references session_family (id) on delete cascade,
    user_id uuid not null,
    token_hash bytea not null constraint refresh_token_hash_key unique,
    issued_at timestamptz not null default now(),
    expires_at timestamptz not null,
    rotated_at timestamptz
  )`,
  `create index refresh_token_family_idx on refresh_token (family_id)`,

  `create table totp_factor (
    user_id uuid primary key references user_account (id) on delete cascade,
    secret_sealed text not null,
    created_at timestamptz not null default now()
  )`,

  `create table recovery_code (
    user_id uuid not null references user_account (id) on delete cascade,
    code_hash bytea not null,
    created_at timestamptz not null default now(),
    primary key (user_id, code_hash)
  )`,

  // One live token per user and purpose: a new one replaces the row.
  `create table link_token (
    user_id uuid not null references user_account (id) on delete cascade,
    purpose text not null check (purpose in ('invite', 'email_verification', 'password_reset', 'email_change')),
    token_hash bytea not null constraint link_token_hash_key unique,
    epoch integer,
    partner_id uuid,
    org_id uuid,
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null default now(),
    primary key (user_id, purpose)
  )`,

  `create table pending_registration (
    id uuid primary key default gen_random_uuid(),
    token_hash bytea not null constraint pending_registration_hash_key unique,
    company_name text not null,
    email text not null,
    name text not null,
    password_hash text not null,
    ip_address text,
    user_agent text,
    expires_at timestamptz not null,
    created_at timestamptz not null default now()
  )`,
  `create index pending_registration_end_idx on pending_registration (expires_at)`,

  `create table signing_key (
    kid text primary key,
    private_jwk_sealed text not null,
    public_jwk jsonb not null,
    created_at timestamptz not null default now(),
    retired_at timestamptz
  )`,
  `create unique index signing_key_one_active on signing_key ((true)) where retired_at is null`,

  `create table mail (
    id uuid primary key,
    idempotency_key text constraint mail_idempotency_key unique,
    recipient text not null,
    template text not null,
    locale text not null default 'en',
    values_sealed text,
    attempts integer not null default 0,
    last_error text,
    created_at timestamptz not null default now(),
    next_attempt_at timestamptz not null default now(),
    sent_at timestamptz,
    abandoned_at timestamptz
  )`,
  `create index mail_waiting_idx on mail (next_attempt_at) where sent_at is null and abandoned_at is null`,
  `create index mail_done_idx on mail (created_at)`,

  `create table audit_head (
    chain text primary key,
    partner_id uuid,
    sequence bigint not null,
    checksum text not null,
    sealed_at timestamptz not null default now()
  )`,
];

/** Partitioned by the time of the row, so its unique key carries that time. */
export const AUDIT_ENTRY = `create table audit_entry (
  id uuid not null,
  sequence bigint not null,
  partner_id uuid,
  org_id uuid,
  timestamp timestamptz not null,
  actor_type text not null check (actor_type in ('user', 'api_key', 'agent', 'system')),
  actor_id text,
  actor_email text,
  action text not null,
  resource_type text not null,
  resource_id text,
  resource_name text,
  details jsonb not null default '{}',
  ip_address text,
  user_agent text,
  result text not null check (result in ('success', 'failure', 'denied')),
  error_message text,
  initiated_by text,
  request_id text,
  canonical text not null,
  checksum text not null,
  previous_checksum text not null,
  sealed_at timestamptz not null default now(),
  primary key (id, timestamp)
) partition by range (timestamp)`;

export const AUDIT_INDEXES: readonly string[] = [
  `create index audit_entry_partner_idx on audit_entry (partner_id, timestamp desc, id desc)`,
  `create index audit_entry_org_idx on audit_entry (org_id, timestamp desc, id desc)`,
  `create index audit_entry_chain_idx on audit_entry (partner_id, sequence)`,
  `create index audit_entry_all_idx on audit_entry (timestamp desc, id desc)`,
];

/** For `down`. */
export const OWN_TABLES: readonly string[] = [
  'audit_entry',
  'audit_head',
  'mail',
  'signing_key',
  'pending_registration',
  'link_token',
  'recovery_code',
  'totp_factor',
  'refresh_token',
  'session_family',
  'organization_membership',
  'partner_membership',
  'role_permission',
  'role',
  'permission',
  'user_account',
  'organization_security_policy',
  'partner',
];
