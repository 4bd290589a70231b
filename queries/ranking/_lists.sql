-- What the statements on lists of recommendations share.

-- One row per convention: which users a metric is averaged over, in general, for precision and MAP,
-- and for NDCG; and the value of a user without relevant items.
CREATE OR REPLACE TEMP VIEW conventions AS
FROM (VALUES
    ('jurity',       'relevant', 'both',     'relevant', 'drop'),
    ('lenskit',      'relevant', 'both',     'relevant', 'drop'),
    ('rectools',     'relevant', 'relevant', 'relevant', 'drop'),
    ('replay',       'relevant', 'relevant', 'relevant', 'drop'),
    ('recommenders', 'both',     'both',     'relevant', 'drop'),
    ('ranx',         'relevant', 'relevant', 'relevant', '0'),
    ('trec',         'both',     'both',     'both',     '0'),
    ('spark',        'all',      'all',      'all',      '0')
) AS _(convention, average_over, average_over_precision, average_over_ndcg, empty);

-- One row per convention: what precision, recall and MAP are divided by, how long the best list of
-- NDCG is, and its discount.
CREATE OR REPLACE TEMP VIEW divisors AS
FROM (VALUES
    ('jurity',       'retrieved', 'n_rel',         'min(k, n_rel)',         'n_rel',         'log'),
    ('lenskit',      'retrieved', 'min(k, n_rel)', 'min(n_rel, retrieved)', 'min(k, n_rel)', 'late_log'),
    ('rectools',     'k',         'n_rel',         'n_rel',                 'k',             'log'),
    ('replay',       'k',         'n_rel',         'min(k, n_rel)',         'min(k, n_rel)', 'log'),
    ('recommenders', 'k',         'n_rel',         'min(k, n_rel)',         'min(k, n_rel)', 'log'),
    ('ranx',         'k',         'n_rel',         'n_rel',                 'min(k, n_rel)', 'log'),
    ('trec',         'k',         'n_rel',         'n_rel',                 'min(k, n_rel)', 'log'),
    ('spark',        'k',         'n_rel',         'min(k, n_rel)',         'min(k, n_rel)', 'log')
) AS _(convention, precision_by, recall_by, map_by, ideal_over, discount);

-- One row: the choices in force. An option that is not given is that of the convention, by default
-- Jurity's.
CREATE OR REPLACE TEMP VIEW rules AS
SELECT coalesce(getvariable('average_over'), average_over) AS average_over,
       coalesce(getvariable('average_over'), average_over_precision) AS average_over_precision,
       coalesce(getvariable('average_over'), average_over_ndcg) AS average_over_ndcg,
       coalesce(getvariable('empty')::VARCHAR, empty) AS empty,
       coalesce(getvariable('precision_by'), precision_by) AS precision_by,
       coalesce(getvariable('recall_by'), recall_by) AS recall_by,
       coalesce(getvariable('map_by'), map_by) AS map_by,
       coalesce(getvariable('ideal_over'), ideal_over) AS ideal_over,
       coalesce(getvariable('discount'), discount) AS discount
FROM conventions
JOIN divisors USING (convention)
WHERE convention = coalesce(getvariable('convention'), 'jurity');

-- One row per relevant item of a user.
CREATE OR REPLACE TEMP VIEW relevant AS
SELECT slice, "user", item, max(grade) AS grade
FROM actual
WHERE "user" IS NOT NULL AND item IS NOT NULL AND grade > 0
GROUP BY ALL;

-- What a relevant item of that grade is worth, by the option `gain`.
CREATE OR REPLACE TEMP MACRO gain(grade) AS
    CASE getvariable('gain') WHEN 'linear' THEN grade WHEN 'exponential' THEN pow(2, grade) - 1 ELSE 1 END;

-- One row per recommendation; the grade is NULL where the item is not relevant. With repeats =
-- 'drop' only the best of a user's rows of one item is here.
CREATE OR REPLACE TEMP VIEW recommended AS
SELECT r.slice, r."user", r.item, r.score, r.rank, t.grade
FROM recs AS r
LEFT JOIN relevant AS t
    ON t.slice IS NOT DISTINCT FROM r.slice AND t."user" = r."user" AND t.item = r.item
WHERE r."user" IS NOT NULL AND r.item IS NOT NULL
QUALIFY coalesce(getvariable('repeats'), 'once') <> 'drop' OR row_number() OVER (
    PARTITION BY r.slice, r."user", r.item ORDER BY r.rank, r.score DESC NULLS LAST
) = 1;

-- One row per recommendation among the first k. `hit`: the item is relevant, and this is its first
-- position in the list. `amount` is the gain of a hit, else 0; with ties = 'expected' it is the
-- mean over the rows of equal score.
CREATE OR REPLACE TEMP VIEW hits AS
WITH positions AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "user"
        ORDER BY score DESC NULLS LAST,
                 CASE getvariable('ties')
                     WHEN 'optimistic' THEN -(grade IS NOT NULL)::INT
                     WHEN 'pessimistic' THEN (grade IS NOT NULL)::INT
                 END,
                 CASE getvariable('ties')
                     WHEN 'optimistic' THEN -gain(grade)
                     WHEN 'pessimistic' THEN gain(grade)
                 END,
                 item
    )) AS position
    FROM recommended
),
judged AS (
    SELECT *, grade IS NOT NULL
              AND row_number() OVER (PARTITION BY slice, "user", item ORDER BY position) = 1 AS hit,
           CASE WHEN hit THEN gain(grade) ELSE 0 END AS gained
    FROM positions
)
SELECT slice, "user", item, position, grade, hit,
       CASE WHEN getvariable('ties') = 'expected'
            THEN avg(gained) OVER (PARTITION BY slice, "user", score)
            ELSE gained
       END::DOUBLE AS amount
FROM judged
QUALIFY position <= coalesce(getvariable('k'), position);

-- One row per user of either table: the number of recommendations and of relevant items, and the
-- sets of users that the user is in: all; relevant where the ground truth has the user; both where
-- the user has recommendations too.
CREATE OR REPLACE TEMP VIEW users AS
WITH found AS (
    SELECT slice, "user", 1 AS rec, 0 AS rel, false AS known FROM recommended
    UNION ALL
    SELECT slice, "user", 0, 1, true FROM relevant
    UNION ALL
    SELECT slice, "user", 0, 0, true FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
)
SELECT slice, "user", sum(rec) AS n_rec, sum(rel) AS n_rel,
       CASE WHEN NOT bool_or(known) THEN ['all']
            WHEN n_rec = 0 THEN ['all', 'relevant']
            ELSE ['all', 'relevant', 'both'] END AS sets
FROM found
GROUP BY slice, "user";

-- One row per row of `hits`, with what `users` has; a user without recommendations has one row.
CREATE OR REPLACE TEMP VIEW lists AS
SELECT u.*, h.item, h.position, h.grade, h.hit, h.amount
FROM users AS u
LEFT JOIN hits AS h ON h.slice IS NOT DISTINCT FROM u.slice AND h."user" = u."user";

-- What a metric is divided by, by its name.
CREATE OR REPLACE TEMP MACRO divisor(name, n_hits, n_rec, n_rel) AS
    CASE name
        WHEN 'n_rel' THEN n_rel
        WHEN 'k' THEN coalesce(getvariable('k'), n_rec)
        WHEN 'hits' THEN n_hits
        WHEN 'retrieved' THEN least(getvariable('k'), n_rec)
        WHEN 'min(k, n_rel)' THEN least(getvariable('k'), n_rel)
        WHEN 'min(n_rel, retrieved)' THEN least(getvariable('k'), n_rel, n_rec)
    END;

-- part / whole, and 0 without a part.
CREATE OR REPLACE TEMP MACRO share(part, whole) AS CASE WHEN part = 0 THEN 0 ELSE part / whole END;

-- The mean of a value over the users of one of their sets. A user without relevant items has the
-- value `empty` instead: drop leaves the user out, and null makes the mean NULL.
CREATE OR REPLACE TEMP MACRO mean_over(users, sets, n_rel, empty, value) AS
    CASE WHEN bool_or(users IN sets AND n_rel = 0 AND empty = 'null') THEN NULL
         ELSE avg(CASE WHEN n_rel > 0 THEN value ELSE try_cast(empty AS DOUBLE) END)
              FILTER (users IN sets)
    END;
