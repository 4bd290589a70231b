-- Mean average precision: precision at the place of every hit within the first k, added up and
-- divided by what the convention says, averaged over the users that it counts.
WITH truth AS (
    -- every relevant item of a user once
    SELECT slice, "user", item, max(grade) AS grade
    FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND grade > 0
    GROUP BY ALL
),
shown AS (
    SELECT r.slice, r."user", r.item, r.score, r.rank, t.item IS NOT NULL AS relevant, t.grade
    FROM recs AS r
    LEFT JOIN truth AS t
        ON t.slice IS NOT DISTINCT FROM r.slice AND t."user" = r."user" AND t.item = r.item
    WHERE r."user" IS NOT NULL AND r.item IS NOT NULL
    QUALIFY coalesce(getvariable('repeats'), 'once') <> 'drop'
        OR row_number() OVER (
            PARTITION BY r.slice, r."user", r.item ORDER BY r.rank, r.score DESC NULLS LAST
        ) = 1
),
placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "user"
        ORDER BY score DESC NULLS LAST,
                 CASE getvariable('ties')
                     WHEN 'optimistic' THEN (NOT relevant)::INT
                     WHEN 'pessimistic' THEN relevant::INT
                 END,
                 item
    )) AS place
    FROM shown
),
hits AS (
    -- an item that is listed twice is a hit at its first place alone
    SELECT *, relevant AND row_number() OVER (
        PARTITION BY slice, "user", item ORDER BY place
    ) = 1 AS hit,
           place <= coalesce(getvariable('k'), place) AS inside
    FROM placed
),
running AS (
    SELECT *, sum(hit::INT) OVER (PARTITION BY slice, "user" ORDER BY place) / place AS precise
    FROM hits
),
people AS (
    SELECT slice, "user" FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
    UNION
    SELECT slice, "user" FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
),
sizes AS (
    SELECT slice, "user",
           (SELECT count(*) FROM shown AS s
            WHERE s.slice IS NOT DISTINCT FROM p.slice AND s."user" = p."user") AS n_rec,
           (SELECT count(*) FROM truth AS t
            WHERE t.slice IS NOT DISTINCT FROM p.slice AND t."user" = p."user") AS n_rel,
           EXISTS (SELECT 1 FROM actual AS a
                   WHERE a.slice IS NOT DISTINCT FROM p.slice AND a."user" = p."user"
                     AND a.item IS NOT NULL) AS known
    FROM people AS p
),
found AS (
    SELECT z.*, coalesce(sum(h.precise), 0) AS precise, count(h.item) AS n_hits
    FROM sizes AS z
    LEFT JOIN running AS h
        ON h.slice IS NOT DISTINCT FROM z.slice AND h."user" = z."user"
        AND h.inside AND h.hit
    GROUP BY ALL
),
valued AS (
    SELECT *, CASE WHEN n_hits = 0 THEN 0 ELSE precise / size END AS value
    FROM (
        SELECT *,
           CASE coalesce(getvariable('map_by'),
                  CASE getvariable('convention')
                      WHEN 'rectools' THEN 'n_rel'
                      WHEN 'ranx' THEN 'n_rel'
                      WHEN 'trec' THEN 'n_rel'
                      WHEN 'lenskit' THEN 'min(n_rel, retrieved)'
                      ELSE 'min(k, n_rel)'
                  END)
               WHEN 'min(k, n_rel)' THEN least(getvariable('k'), n_rel)
               WHEN 'n_rel' THEN n_rel
               WHEN 'k' THEN coalesce(getvariable('k'), n_rec)
               WHEN 'hits' THEN n_hits
               WHEN 'min(n_rel, retrieved)' THEN least(getvariable('k'), n_rel, n_rec)
           END AS size
        FROM found
    )
),
counted AS (
    SELECT slice, n_rel,
           CASE WHEN n_rel > 0 THEN value
                ELSE try_cast(coalesce(getvariable('empty')::VARCHAR, empty_of) AS DOUBLE)
           END AS value,
           CASE coalesce(getvariable('average_over'), over_of)
               WHEN 'relevant' THEN known
               WHEN 'both' THEN known AND n_rec > 0
               ELSE true
           END AND (n_rel > 0
                    OR coalesce(getvariable('empty')::VARCHAR, empty_of) <> 'drop') AS counts
    FROM (
        SELECT *,
               CASE getvariable('convention')
                   WHEN 'rectools' THEN 'relevant'
                   WHEN 'ranx' THEN 'relevant'
                   WHEN 'replay' THEN 'relevant'
                   WHEN 'trec' THEN 'both'
                   WHEN 'recommenders' THEN 'both'
                   WHEN 'spark' THEN 'all'
                   ELSE 'both'
               END AS over_of,
               CASE WHEN getvariable('convention') IN ('ranx', 'trec', 'spark') THEN '0' ELSE 'drop'
               END AS empty_of
        FROM valued
    )
)
SELECT slice,
       CASE WHEN bool_or(counts AND value IS NULL) THEN NULL
            ELSE avg(value) FILTER (counts)
       END AS value
FROM counted
GROUP BY slice
