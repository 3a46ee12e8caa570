#!/bin/sh
# Runs once, when the volume of PostgreSQL is new: a database, and per service a schema with its three logins
# (owner for migrations, service, worker). The names differ from those of ./fleet, so that both fit on one server.
set -eu
for schema in identity credentials partner_gateway provisioning webhook_dispatcher; do
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    -v schema="$schema" -v owner="${schema}_owner" -v service="${schema}_service" -v worker="${schema}_worker" \
    -v password="$SERVICE_DB_PASSWORD" <<'SQL'
create role :"owner" login nosuperuser nobypassrls password :'password';
create role :"service" login nosuperuser nobypassrls password :'password';
create role :"worker" login nosuperuser nobypassrls password :'password';
create schema :"schema" authorization :"owner";
grant usage on schema :"schema" to :"service", :"worker";
SQL
done
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" -c 'revoke create on schema public from public'
