#!/bin/sh
# Create the service's database and role, once. The role is no superuser: row-level security does not apply to one.
set -eu
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --set "password=$EVERYWORD_DB_PASSWORD" <<'SQL'
CREATE ROLE everyword LOGIN PASSWORD :'password';
CREATE DATABASE everyword OWNER everyword;
\connect everyword
CREATE EXTENSION vector;
SQL
