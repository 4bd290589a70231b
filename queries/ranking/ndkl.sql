-- Divergence of the item groups' shares down to each place from their targets, in nats; the mean over
-- places, weighted by the discount.
WITH placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
    )) AS place
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
),
worth AS (
    SELECT p.slice, p."user", p."group", place, i.item_group,
           CASE coalesce(getvariable('discount'), 'log')
               WHEN 'log' THEN 1 / log2(1 + place)
               WHEN 'late_log' THEN 1 / greatest(1, log2(place))
               WHEN 'reciprocal' THEN 1.0 / place
               WHEN 'geometric' THEN pow(coalesce(getvariable('p'), 0.8), place - 1)
           END AS exposure
    FROM placed AS p
    LEFT JOIN items AS i ON i.item = p.item
    WHERE place <= coalesce(getvariable('k'), place)
),
names AS (
    SELECT DISTINCT item_group FROM items WHERE item_group IS NOT NULL
    UNION
    SELECT unnest(json_keys(to_json(getvariable('target'))))
),
wishes AS (
    SELECT item_group,
           CASE WHEN getvariable('target') IS NULL
                THEN (SELECT count(*) FROM items AS i WHERE i.item_group = n.item_group)
                ELSE coalesce((to_json(getvariable('target')) ->> n.item_group)::DOUBLE, 0)
           END AS wanted
    FROM names AS n
),
targets AS (SELECT item_group, wanted / sum(wanted) OVER () AS target FROM wishes),
places AS (
    SELECT DISTINCT slice, place, exposure FROM worth WHERE item_group IS NOT NULL
),
above AS (
    SELECT p.slice, p.place, p.exposure, t.target, count(w.place) AS times
    FROM places AS p
    CROSS JOIN targets AS t
    LEFT JOIN worth AS w
        ON w.slice IS NOT DISTINCT FROM p.slice AND w.item_group = t.item_group
        AND w.place <= p.place
    GROUP BY p.slice, p.place, p.exposure, t.item_group, t.target
),
shares AS (
    SELECT *, times / sum(times) OVER (PARTITION BY slice, place) AS share FROM above
),
divergences AS (
    SELECT slice, place, exposure,
           sum(CASE WHEN share > 0 THEN share * ln(share / target) ELSE 0 END) AS nats
    FROM shares
    GROUP BY ALL
)
SELECT z.slice, sum(d.nats * d.exposure) / sum(d.exposure) AS value
FROM (SELECT DISTINCT slice FROM placed) AS z
LEFT JOIN divergences AS d ON d.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
