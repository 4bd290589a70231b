-- F1: harmonic mean of a user's precision and recall at k, 0 without a hit, averaged over users.
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
spread AS (
    -- in the mean over all orders, equal scores share what their places hold
    SELECT slice, "user", place, inside,
           CASE WHEN getvariable('ties') = 'expected'
                THEN avg(hit::INT) OVER (PARTITION BY slice, "user", score)
                ELSE hit::INT
           END AS amount
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
    SELECT z.*, coalesce(sum(h.amount), 0) AS n_hits
    FROM sizes AS z
    LEFT JOIN spread AS h
        ON h.slice IS NOT DISTINCT FROM z.slice AND h."user" = z."user"
        AND h.inside
    GROUP BY ALL
),
valued AS (
    SELECT *,
           CASE WHEN n_hits = 0 THEN 0
                ELSE 2 / (1 / (n_hits / of_list) + 1 / (n_hits / of_truth))
           END AS value
    FROM (
        SELECT *,
           CASE coalesce(getvariable('precision_by'),
                  CASE getvariable('convention')
                      WHEN 'rectools' THEN 'k'
                      WHEN 'ranx' THEN 'k'
                      WHEN 'trec' THEN 'k'
                      WHEN 'replay' THEN 'k'
                      WHEN 'recommenders' THEN 'k'
                      WHEN 'spark' THEN 'k'
                      ELSE 'retrieved'
                  END)
               WHEN 'retrieved' THEN least(getvariable('k'), n_rec)
               WHEN 'k' THEN coalesce(getvariable('k'), n_rec)
               WHEN 'min(k, n_rel)' THEN least(getvariable('k'), n_rel)
               WHEN 'n_rel' THEN n_rel
           END AS of_list,
           CASE coalesce(getvariable('recall_by'),
                  CASE getvariable('convention')
                      WHEN 'lenskit' THEN 'min(k, n_rel)'
                      ELSE 'n_rel'
                  END)
               WHEN 'n_rel' THEN n_rel
               WHEN 'min(k, n_rel)' THEN least(getvariable('k'), n_rel)
           END AS of_truth
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
                   ELSE 'relevant'
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
